/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_FILTER_OPTS_H
#define INV_CLI_FILTER_OPTS_H

#include <argp.h>
#include <stdbool.h>

#include "cli/filter_spec.h"
#include "cli/when.h"
#include "log/filter.h"

/*
 * The options that say which events are wanted: --from, --to, --pid, --tag,
 * --mfa and --filter.  inv_filter_argp is a child of a command's argp, with a struct
 * inv_filter_opts as its input.
 */
struct inv_filter_opts {
	struct inv_filter filter;
	struct inv_spec_filter *spec; /* NULL: there is none */
	/* private */
	struct inv_when from, until;
	bool has_from, has_until;
};

extern const struct argp inv_filter_argp;

/* Warns of what a --filter has in the place of a tag, unless it is "". */
void inv_filter_odd_tag(const struct argp_state *state, const char *odd);

/* INV_ENOMEM. */
int inv_filter_opts_init(struct inv_filter_opts *o);
void inv_filter_opts_release(struct inv_filter_opts *o);

/* Whether the times can be resolved before an event is known. */
bool inv_filter_opts_dated(const struct inv_filter_opts *o);

/* Whether the item is wanted; losses are, whatever is asked for. */
static inline bool inv_filter_opts_pass(const struct inv_filter_opts *o,
					const struct inv_item *it)
{
	return inv_filter_passes(&o->filter, it) &&
	       (!o->spec || it->kind != INV_ITEM_EVENT ||
		inv_spec_filter_wants(o->spec, &it->ev, it->node));
}

/*
 * Times without a day are of that of first_ns, the first event's; one of --to
 * that comes before --from is of the day after.  INV_EINVAL, with words: --to
 * is before --from.
 */
int inv_filter_opts_resolve(struct inv_filter_opts *o, bool utc,
			    int64_t first_ns, struct inv_err *err);

#endif
