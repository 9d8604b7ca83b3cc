/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_PICK_H
#define INV_CLI_PICK_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/filter_spec.h"
#include "log/filter.h"
#include "log/item.h"
#include "node/session.h"

/*
 * Picks calls by how they ended: slow calls, and calls that failed. A picked
 * call is shown once, when it ends, as one entry with its arguments and the
 * time at which it began.
 *
 * A call failed if it ended with an exception, if it returned `error' or a
 * tuple whose first element is `error', or if its process exited during the
 * call with another reason than `normal'.
 *
 * The options --min-duration and --failed apply to all events: only picked
 * calls are shown. The actions slow and failed of a SPEC apply to the functions
 * of this SPEC.
 */
struct inv_pick_rule {
	bool slow;
	int64_t min_ns;
	bool failed;
};

struct inv_pick {
	struct inv_pick_rule all;
	struct inv_spec_filter *returns; /* --failed=PATTERN; NULL: none */
	bool decided; /* the nodes test these rules, too: if a node has picked
			 a call, the command shows the call without a test */
	uint64_t without_value; /* how many returned values were not recorded */
	/* private */
	struct inv_pick_spec *specs; /* SPECs with slow or failed */
	size_t n_specs;
	struct inv_cursor *cursor;
	/* One rule comes from a SPEC with app(...) or behaviour(...). It
	 * applies to functions of all modules, so no other SPEC may be
	 * given. */
	bool group;
};

/* The options --min-duration and --failed, as an argp child. Its input is a
 * struct inv_pick. */
extern const struct argp inv_pick_argp;

/* Returns 0 or INV_ENOMEM. */
int inv_pick_init(struct inv_pick *p);
void inv_pick_release(struct inv_pick *p);

/*
 * Adds the actions slow and failed of a SPEC of `inviso trace', if it has any.
 * Returns 0, INV_ENOMEM, or INV_EINVAL with a message: the time of slow is
 * invalid, or the SPEC records no returns, which --min-duration and --failed
 * need. Other errors in SPEC are left to the node's parser.
 */
int inv_pick_add_spec(struct inv_pick *p, const char *spec,
		      struct inv_err *err);

/* Returns those rules of --min-duration and --failed that the nodes can
 * apply. */
struct inv_session_decide inv_pick_decide(const struct inv_pick *p);

/* Returns true if there are rules, so that not all events are shown. */
static inline bool inv_pick_active(const struct inv_pick *p)
{
	return p->all.slow || p->all.failed || p->n_specs;
}

/* Returns how many calls --failed and the action failed could not test, because
 * the tested values were not recorded. These calls are left out. */
uint64_t inv_pick_undecided(const struct inv_pick *p);

/* The slow path of inv_pick_wants. */
bool inv_pick_test(struct inv_pick *p, const struct inv_item *it);

/* Returns true if the item is shown. it->facts must be set. If it ends a picked
 * call, makes sinks show the call. Losses are always shown. */
static inline bool inv_pick_wants(struct inv_pick *p, const struct inv_item *it)
{
	return !inv_pick_active(p) || inv_pick_test(p, it);
}

#endif
