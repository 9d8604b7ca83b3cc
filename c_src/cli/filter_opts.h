/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_FILTER_OPTS_H
#define INV_CLI_FILTER_OPTS_H

#include <argp.h>
#include <stdbool.h>

#include "cli/filter_spec.h"
#include "cli/when.h"
#include "log/filter.h"

/*
 * The options that select events: --from, --to, --pid, --tag, --mfa, --filter
 * and --records. inv_filter_argp is a child of a command's argp; its input is a
 * struct inv_filter_opts.
 */
struct inv_filter_opts {
	struct inv_filter filter;
	struct inv_spec_filter *spec; /* NULL: no --filter */
	/* private */
	const char *text; /* the value of --filter */
	struct inv_records records;
	struct inv_when from, until;
	bool has_from, has_until;
};

extern const struct argp inv_filter_argp;

/*
 * Warns that the tag `odd' in a --filter is unknown. Does nothing if `odd' is
 * "".
 */
void inv_filter_odd_tag(const struct argp_state *state, const char *odd);

/* Returns 0 or INV_ENOMEM. */
int inv_filter_opts_init(struct inv_filter_opts *o);
void inv_filter_opts_release(struct inv_filter_opts *o);

/* Returns true if --from and --to can be computed before the first event is
 * known. */
bool inv_filter_opts_dated(const struct inv_filter_opts *o);

/* Returns true if the event ends a call that --filter selects. */
bool inv_filter_opts_pass_end(const struct inv_filter_opts *o,
			      const struct inv_item *it);

/* Returns true if the item is selected. Losses are always selected. */
static inline bool inv_filter_opts_pass(const struct inv_filter_opts *o,
					const struct inv_item *it)
{
	return inv_filter_passes(&o->filter, it) &&
	       (!o->spec || it->kind != INV_ITEM_EVENT ||
		inv_spec_filter_wants(o->spec, &it->ev, it) ||
		inv_filter_opts_pass_end(o, it));
}

/*
 * Computes --from and --to. A time without a date is on the day of first_ns,
 * the time of the first event. If neither time has a date and --to would be
 * before --from, --to is on the next day. If a time has a date and --to is
 * before --from, returns INV_EINVAL, with a message.
 */
int inv_filter_opts_resolve(struct inv_filter_opts *o, bool utc,
			    int64_t first_ns, struct inv_err *err);

#endif
