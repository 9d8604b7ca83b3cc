/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_FILTER_SPEC_H
#define INV_CLI_FILTER_SPEC_H

#include <stdbool.h>

#include "base/err.h"
#include "log/item.h"

/*
 * A match spec that says which events are wanted.
 *
 * It is run over the elements of the documented trace tuple, without `trace`
 * and the time, as a list of arguments: of {trace, Pid, call, {M,F,Args}} over
 * [Pid, call, {M,F,Args}].  For seq_trace the label is in the place of Pid.  The
 * result that {message, _} had may be asked for as the last one, or left out.
 * An event is wanted when a clause matches and has not said {message, false}.
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

/* Events that could not be decided. */
uint64_t inv_spec_filter_undecided(const struct inv_spec_filter *f);

#endif
