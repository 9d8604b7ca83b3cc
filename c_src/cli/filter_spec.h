/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_FILTER_SPEC_H
#define INV_CLI_FILTER_SPEC_H

#include <stdbool.h>

#include "base/err.h"
#include "log/item.h"
#include "match/records.h"

/* A match spec that selects events of a log (match/event_match.h). */
struct inv_spec_filter;

/*
 * Makes a filter from a text, which is a match spec or a selector
 * (match/selector.h). `records' defines the records in a selector; it can be
 * NULL. Returns 0; INV_EINVAL with a message; INV_ENOMEM.
 */
int inv_spec_filter_new(struct inv_spec_filter **made, const char *text,
			const struct inv_records *records, struct inv_err *err);
void inv_spec_filter_free(struct inv_spec_filter *f);

/*
 * Returns true if the event `ev' is selected. The caller passes as `ev' the
 * event of the item `it' or, if `it' is the end of a call, the event with which
 * that call began. If the result depends on data that were not recorded,
 * returns false and counts the event as undecided.
 */
bool inv_spec_filter_wants(struct inv_spec_filter *f,
			   const struct inv_event *ev,
			   const struct inv_item *it);

/*
 * From now on a spec for messages, send(To, Msg) or receive(Msg), also selects
 * the seq_trace events for such messages. Returns false if the spec selects
 * neither messages nor seq_trace events.
 */
bool inv_spec_filter_messages(struct inv_spec_filter *f);

/* Returns the first tag in the filter that no event has, or "". */
const char *inv_spec_filter_odd(const struct inv_spec_filter *f);

/* Returns how many events were counted as undecided. */
uint64_t inv_spec_filter_undecided(const struct inv_spec_filter *f);

#endif
