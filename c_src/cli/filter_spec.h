/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_FILTER_SPEC_H
#define INV_CLI_FILTER_SPEC_H

#include <stdbool.h>

#include "base/err.h"
#include "log/item.h"

/*
 * A match spec that says which events of a log are wanted: match/event_match.h.
 */
struct inv_spec_filter;

/*
 * Makes one of text: a match spec, or a call with conditions (match/call.h).
 * INV_EINVAL, with words; INV_ENOMEM.
 */
int inv_spec_filter_new(struct inv_spec_filter **made, const char *text,
			struct inv_err *err);
void inv_spec_filter_free(struct inv_spec_filter *f);

/*
 * Whether the event is wanted.  One that the spec cannot decide, for it lacks
 * what was not recorded, is not, and is counted.
 */
bool inv_spec_filter_wants(struct inv_spec_filter *f,
			   const struct inv_event *ev,
			   const struct inv_node *node);

/* struct inv_event_match's. */
const char *inv_spec_filter_odd(const struct inv_spec_filter *f);

/* Events that could not be decided. */
uint64_t inv_spec_filter_undecided(const struct inv_spec_filter *f);

#endif
