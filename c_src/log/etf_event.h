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
 * If the tuple of a call has only one of the elements MatchSpecResult and
 * SchedulerId, nothing shows which of the two it is. The element then counts as
 * MatchSpecResult.
 */
struct inv_etf_event {
	struct inv_event ev; /* ev.raw has the whole term */
	bool timed;	     /* the tuple has a timestamp, in ts_ns */
	int64_t ts_ns; /* if ev.ts_kind is INV_TS_TIMESTAMP, Erlang system time;
			  otherwise Erlang monotonic time */
	bool is_drop;  /* the term is {drop,N} */
	uint64_t dropped;
	char other[2 * INV_ATOM_CHARS]; /* the bytes of ev.other */
};

/*
 * Decodes the term at p with the cursor c, whose state it overwrites. If the
 * term is not a trace tuple, it becomes an event with the tag INV_TAG_OTHER,
 * `other' NULL and `bare' true. Returns 0 or an error of inv_cursor_next.
 */
int inv_etf_event_decode(struct inv_etf_event *e, struct inv_cursor *c,
			 const uint8_t *p, size_t len);

#endif
