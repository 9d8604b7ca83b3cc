/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_ETF_EVENT_H
#define INV_LOG_ETF_EVENT_H

#include "log/event.h"

/*
 * A trace tuple in external term format, as OTP delivers it:
 *
 *	{trace | trace_ts, Pid, Tag, Payload
 *	    [, Extra] [, MatchSpecResult] [, SchedulerId] [, Timestamp]}
 *	{seq_trace, Label, Info [, Timestamp]}
 *
 * Whether the fifth element of a call is a result or a scheduler's number
 * cannot be told when it is alone: it is taken for a result.
 */
struct inv_etf_event {
	struct inv_event ev; /* ev.raw has the whole term */
	bool timed;
	int64_t ts_ns; /* ts_kind TIMESTAMP: system time, else monotonic */
	bool is_drop;  /* {drop,N} */
	uint64_t dropped;
	char other[2 * INV_ATOM_CHARS]; /* where ev.other lies */
};

/*
 * Decodes the term at p; c is for its use, and what it had is lost.  A term
 * that is no trace tuple is one with INV_TAG_OTHER, no other and ev.bare set.
 * Errors as inv_cursor_next.
 */
int inv_etf_event_decode(struct inv_etf_event *e, struct inv_cursor *c,
			 const uint8_t *p, size_t len);

#endif
