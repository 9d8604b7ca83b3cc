/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_EVENT_MATCH_H
#define INV_MATCH_EVENT_MATCH_H

#include <stdbool.h>

#include "abi/event.h"
#include "match/match.h"
#include "match/records.h"

/*
 * A match spec that selects events, from a log or in a node.
 *
 * The spec is applied to a list: the elements of the documented trace tuple
 * without `trace' and the timestamp. For {trace, Pid, call, {M,F,Args}} that is
 * [Pid, call, {M,F,Args}]. For seq_trace the label replaces Pid. If the match
 * spec of the traced function has executed {message, Value}, Value is the last
 * element, which the selecting spec may leave out. An event is selected if a
 * clause matches and did not execute {message, false}.
 *
 * The struct owns its memory; release it even if a function below failed.
 */
struct inv_event_match {
	struct inv_heap terms; /* the spec's terms */
	inv_word source;       /* the spec, unless it was read from bytes */
	struct inv_match match;
	/*
	 * The tags of events that can match. If by_tag is false, any tag can
	 * match.
	 */
	bool by_tag;
	bool tags[INV_TAG_COUNT];
	/* the first unknown atom in the position of a tag; "": none */
	char odd[64];
	/* Conditions that the spec cannot test (inv_event_match_select).
	 * Wildcards for the names in a call (base/glob.h); "": no wildcard. */
	char module_glob[1024], function_glob[1024];
	/* A receiver of a sent message is a registered name: it also selects
	 * messages to the pid of the process that has this name. */
	bool to_name;
};

/*
 * The maximum number of elements in the list: Pid, tag, payload, extra, and
 * Value of {message, Value}.
 */
#define INV_EVENT_ELEMENTS 5

/*
 * Make a filter. `text' is a match spec, or a selector (match/selector.h).
 * `records' defines the records in the text, and can be NULL. `bytes' is a
 * match spec in the external term format, and is borrowed. inv_event_match_text
 * refuses records, whose definitions a node does not have. Return 0,
 * INV_ENOMEM, INV_EINVAL or another error, with a message in `err'.
 */
int inv_event_match_select(struct inv_event_match *m, const char *text,
			   const struct inv_records *records,
			   struct inv_err *err);
int inv_event_match_text(struct inv_event_match *m, const char *text,
			 struct inv_err *err);
int inv_event_match_etf(struct inv_event_match *m, const uint8_t *bytes,
			size_t len, struct inv_err *err);
void inv_event_match_release(struct inv_event_match *m);

#endif
