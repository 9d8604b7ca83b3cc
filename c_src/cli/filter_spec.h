/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_FILTER_SPEC_H
#define INV_CLI_FILTER_SPEC_H

#include <stdbool.h>

#include "base/err.h"
#include "log/item.h"

/* A match spec that selects events of a log (match/event_match.h). */
struct inv_spec_filter;

/*
 * Makes a filter from text: a match spec, or a call with conditions
 * (match/call.h). Returns 0; INV_EINVAL with a message; INV_ENOMEM.
 */
int inv_spec_filter_new(struct inv_spec_filter **made, const char *text,
			struct inv_err *err);
void inv_spec_filter_free(struct inv_spec_filter *f);

/*
 * Returns true if the event is selected. If the decision depends on data that
 * were not recorded, returns false and counts the event as undecided.
 */
bool inv_spec_filter_wants(struct inv_spec_filter *f,
			   const struct inv_event *ev,
			   const struct inv_node *node);

/* Returns the first tag in the filter that is no tag of an event, or "". */
const char *inv_spec_filter_odd(const struct inv_spec_filter *f);

/* Returns how many events could not be decided. */
uint64_t inv_spec_filter_undecided(const struct inv_spec_filter *f);

#endif
