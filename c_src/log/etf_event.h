/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_ETF_EVENT_H
#define INV_LOG_ETF_EVENT_H

#include "log/event.h"

/*
 * A trace tuple in the external term format, as OTP sends it:
 *
 * 	{trace | trace_ts, Pid, Tag, Payload
 * 	    [, Extra] [, MatchSpecResult] [, SchedulerId] [, Timestamp]}
 * 	{seq_trace, Label, Info [, Timestamp]}
 *
 * If a call has only one of MatchSpecResult and SchedulerId, nothing shows
 * which of the two it is; the element is decoded as MatchSpecResult.
 */
struct inv_etf_event {
	struct inv_event ev; /* ev.raw has the whole term */
	bool timed;
	int64_t ts_ns; /* ts_kind TIMESTAMP: system time; other kinds:
			  monotonic */
	bool is_drop;  /* the term is {drop,N} */
	uint64_t dropped;
	char other[2 * INV_ATOM_CHARS]; /* the bytes of ev.other */
};

/*
 * Decodes the term at p. Uses the cursor c and overwrites its state. A term
 * that is not a trace tuple becomes an event with tag INV_TAG_OTHER, `other'
 * NULL and `bare' true. Returns the errors of inv_cursor_next.
 */
int inv_etf_event_decode(struct inv_etf_event *e, struct inv_cursor *c,
			 const uint8_t *p, size_t len);

#endif
