/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_EVENT_MATCH_H
#define INV_MATCH_EVENT_MATCH_H

#include <stdbool.h>

#include "abi/event.h"
#include "match/match.h"
#include "match/records.h"

/*
 * A match spec that selects events. It is used for the events of a log, and on
 * a node before they are recorded.
 *
 * The spec is applied to a list: the elements of the event's trace tuple, as
 * OTP documents it, without `trace' and the timestamp. For {trace, Pid, call,
 * {M,F,Args}} the list is [Pid, call, {M,F,Args}]. For seq_trace the label
 * replaces Pid. If the match spec of the traced function has executed {message,
 * Value}, the list ends with Value; a clause may then match the list with Value
 * or the list without Value. An event is selected if a clause matches, unless
 * this clause executes {message, false}.
 *
 * The struct owns its memory. Release it even if the function that makes it
 * fails.
 */
struct inv_event_match {
	struct inv_heap terms; /* the spec's terms */
	inv_word source;       /* the spec; not set by inv_event_match_etf */
	struct inv_match match;
	/*
	 * The tags of events that can match. If by_tag is false, any tag can
	 * match.
	 */
	bool by_tag;
	bool tags[INV_TAG_COUNT];
	/* For a warning: the first atom that stands in the place of a tag, but
	 * is no known tag. "": there is no such atom. */
	char odd[64];
	/* Wildcards (base/glob.h) for the module and the function of a call;
	 * "": no wildcard. The spec cannot test them, so the caller must. Set
	 * by inv_event_match_select. */
	char module_glob[1024], function_glob[1024];
	/* True: the selector names the receiver of a sent message by its
	 * registered name. A message to the pid of this process must be
	 * selected, too. The spec cannot test this, so the caller must. */
	bool to_name;
};

/*
 * The maximum number of elements in the list: Pid, tag, payload, extra, and
 * Value of {message, Value}.
 */
#define INV_EVENT_ELEMENTS 5

/*
 * These functions make a match spec for events. `text' is a match spec or a
 * selector (match/selector.h). `bytes' is a match spec in the external term
 * format, and is borrowed. `records' has the definitions of the records in the
 * text, or is NULL. Nodes use inv_event_match_text, which refuses records: a
 * node does not have their definitions. The functions return 0, INV_ENOMEM,
 * INV_EINVAL or another error, with a message in `err'.
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
