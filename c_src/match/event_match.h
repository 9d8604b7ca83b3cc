/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_EVENT_MATCH_H
#define INV_MATCH_EVENT_MATCH_H

#include <stdbool.h>

#include "abi/event.h"
#include "match/match.h"

/*
 * A match spec that says which events are wanted, offline and in a node.
 *
 * It is run over the elements of the documented trace tuple, without `trace`
 * and the time, as a list of arguments: of {trace, Pid, call, {M,F,Args}} over
 * [Pid, call, {M,F,Args}].  For seq_trace the label is in the place of Pid.  The
 * result that {message, _} had may be asked for as the last one, or left out.
 * An event is wanted when a clause matches and has not said {message, false}.
 *
 * It owns its memory, and is to be released in any case.
 */
struct inv_event_match {
	struct inv_heap terms; /* the spec's own */
	struct inv_match match;
	/* Of other tags than these no event can match; by_tag is false where
	 * that cannot be said. */
	bool by_tag;
	bool tags[INV_TAG_COUNT];
	char odd[64]; /* what is written where a tag belongs and is none that
			 is known, the first; "": nothing */
};

/* Pid, tag, payload, extra, result of {message, _}. */
#define INV_EVENT_ELEMENTS 5

/*
 * Of text: a match spec, or a call with conditions (match/call.h).  Or of a
 * match spec in the external term format, whose bytes are referred to.
 * INV_EINVAL and others, with words; INV_ENOMEM.
 */
int inv_event_match_text(struct inv_event_match *m, const char *text,
			 struct inv_err *err);
int inv_event_match_etf(struct inv_event_match *m, const uint8_t *bytes,
			size_t len, struct inv_err *err);
void inv_event_match_release(struct inv_event_match *m);

#endif
