/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_FLOW_H
#define INV_FLOW_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/facts.h"
#include "flow/process.h"
#include "log/item.h"
#include "term/copy.h"

/*
 * Derives what events mean from the events before them: which call a return
 * ends and how long it took, and the names of processes. Merged items go in,
 * and the same items come out, with facts. Filters come after it, so they do not
 * change what is derived.
 *
 *	inv_flow_init(&f, &opts);
 *	while (!inv_merge_next(&m, &item)) {
 *		item = inv_flow_item(&f, item);
 *		... item->facts ...
 *	}
 *	inv_flow_release(&f);
 */
struct inv_flow_opts {
	bool keep;     /* keep the events of open calls, for struct inv_call */
	size_t memory; /* bound in bytes; 0: INV_FLOW_MEMORY */
};

#define INV_FLOW_MEMORY ((size_t)256 << 20)
/* A call whose event has more bytes than this is not kept. */
#define INV_FLOW_KEPT_EVENT ((size_t)1 << 20)

/* A function of a node. Functions whose calls never return are not counted as
 * open calls. */
#define INV_FLOW_FUNCTIONS 4096u

struct inv_flow_function {
	uint64_t key;
	bool returned;	 /* a return was seen */
	uint32_t missed; /* calls that ended without a return */
};

struct inv_flow {
	struct inv_processes processes;
	uint64_t unmatched; /* returns whose call is unknown */
	/* private */
	struct inv_flow_opts opts;
	struct inv_cursor *cursor;
	struct inv_item item;
	struct inv_facts facts;
	struct inv_call call;
	struct inv_mfa mfa;
	struct inv_mfa call_mfa;
	struct inv_event event; /* of `call' */
	struct inv_dict dict;	/* of `event' */
	struct inv_copier copier;
	struct inv_process *exited; /* to forget at the next item */
	struct inv_flow_function *functions;
	uint64_t *losses; /* by node: losses so far */
	uint32_t n_losses;
	struct inv_buf text;
	char name[INV_NAME_MAX]; /* the name that the event changes */
};

/* Returns 0 or INV_ENOMEM; release it also then. */
int inv_flow_init(struct inv_flow *f, const struct inv_flow_opts *opts);
void inv_flow_release(struct inv_flow *f);

/* Returns the item with its facts, valid until the next call. NULL: no memory.
 * A loss has no facts. */
const struct inv_item *inv_flow_item(struct inv_flow *f,
				     const struct inv_item *it);

/* Returns the name of a process or port of the node, from the events so far. */
struct inv_process_name inv_flow_name(struct inv_flow *f,
				      const struct inv_node *node,
				      const struct inv_token *tok);

#endif
