/* SPDX-License-Identifier: Apache-2.0 */
#include "log/etf_event.h"

#include <string.h>

/* The longest tuple has the elements trace_ts, pid, tag, payload, extra,
 * result, scheduler, timestamp. */
#define MAX_ELEMENTS 8

struct elements {
	size_t at[MAX_ELEMENTS + 1]; /* offsets; at[n]: end of the last
					element */
	uint32_t n;
};

static bool has_extra(unsigned tag)
{
	switch (tag) {
	case INV_TAG_SEND:
	case INV_TAG_SEND_NO_PROC:
	case INV_TAG_RETURN_FROM:
	case INV_TAG_EXCEPTION_FROM:
	case INV_TAG_SPAWN:
	case INV_TAG_SPAWNED:
	case INV_TAG_OPEN:
		return true;
	default:
		return false;
	}
}

/* Skips the remaining elements of the tuple that the cursor c reads, from
 * element `from' on, and stores the elements' offsets in *el. */
static int walk(struct inv_cursor *c, struct elements *el, uint32_t from)
{
	for (uint32_t i = from; i < el->n; i++) {
		int rc;

		el->at[i] = inv_cursor_offset(c);
		rc = inv_cursor_skip(c);
		if (rc)
			return rc < 0 ? rc : INV_EDAMAGED;
	}
	el->at[el->n] = inv_cursor_offset(c);
	return inv_cursor_end(c);
}

static void slice(struct inv_event *ev, const struct elements *el,
		  const uint8_t *p, uint32_t from, uint32_t to)
{
	ev->terms = p + el->at[from];
	ev->len = el->at[to] - el->at[from];
}

/* --- timestamps ----------------------------------------------------------- */

static bool get_int(struct inv_cursor *c, int64_t *v)
{
	struct inv_token tok;

	return !inv_cursor_next(c, &tok) && inv_token_i64(&tok, v);
}

static bool mega_sec_micro(struct inv_cursor *c, int64_t *ns)
{
	int64_t mega, sec, micro, s;

	return get_int(c, &mega) && get_int(c, &sec) && get_int(c, &micro) &&
	       !__builtin_mul_overflow(mega, INT64_C(1000000), &s) &&
	       !__builtin_add_overflow(s, sec, &s) &&
	       !__builtin_mul_overflow(s, INT64_C(1000000), &s) &&
	       !__builtin_add_overflow(s, micro, &s) &&
	       !__builtin_mul_overflow(s, INT64_C(1000), ns);
}

/* Decodes a timestamp: {Mega,Sec,Micro}, Monotonic or {Monotonic,Unique}.
 * Ignores a term of another form. */
static void timestamp(struct inv_etf_event *e, struct inv_cursor *c,
		      const uint8_t *p, size_t len)
{
	struct inv_token tok;

	inv_cursor_init(c, INV_ENC_ETF, NULL, p, len);
	if (inv_cursor_next(c, &tok))
		return;
	if (inv_token_i64(&tok, &e->ts_ns)) {
		e->ev.ts_kind = INV_TS_MONOTONIC;
		e->timed = true;
	} else if (tok.kind == INV_TOK_TUPLE && tok.count == 2) {
		e->ev.ts_kind = INV_TS_STRICT;
		e->timed = get_int(c, &e->ts_ns) && get_int(c, &e->ev.unique);
	} else if (tok.kind == INV_TOK_TUPLE && tok.count == 3) {
		e->ev.ts_kind = INV_TS_TIMESTAMP;
		e->timed = mega_sec_micro(c, &e->ts_ns);
	}
}

/* --- the tuples ----------------------------------------------------------- */

static void set_tag(struct inv_etf_event *e, const struct inv_token *tok)
{
	unsigned tag = inv_tag_number((const char *)tok->bytes, tok->len);

	e->ev.tag = tag ? (uint8_t)tag : INV_TAG_OTHER;
	if (tag || tok->len > sizeof(e->other))
		return;
	memcpy(e->other, tok->bytes, tok->len);
	e->ev.other = e->other;
	e->ev.other_len = tok->len;
}

static void scheduler(struct inv_etf_event *e, struct inv_cursor *c,
		      const uint8_t *p, size_t len)
{
	int64_t v;

	inv_cursor_init(c, INV_ENC_ETF, NULL, p, len);
	if (get_int(c, &v) && v >= 0) {
		e->ev.has_sched = true;
		e->ev.sched = (uint64_t)v;
	}
}

/* Decodes the rest of a tuple whose first element is `trace' or `trace_ts'.
 * Sets *is_trace to false if the rest does not fit a trace tuple. */
static int trace_tuple(struct inv_etf_event *e, struct inv_cursor *c,
		       struct elements *el, const uint8_t *p, bool timed,
		       bool *is_trace)
{
	struct inv_token tok;
	uint32_t n = el->n - timed; /* elements except the timestamp */
	uint32_t used;
	int rc;

	el->at[1] = inv_cursor_offset(c);
	rc = inv_cursor_skip(c);
	el->at[2] = inv_cursor_offset(c);
	if (!rc)
		rc = inv_cursor_next(c, &tok);
	if (rc)
		return rc < 0 ? rc : INV_EDAMAGED;
	*is_trace = tok.kind == INV_TOK_ATOM && n >= 4;
	if (*is_trace)
		set_tag(e, &tok);
	rc = inv_cursor_skip_rest(c, &tok);
	if (!rc)
		rc = walk(c, el, 3);
	if (rc || !*is_trace)
		return rc;
	e->ev.extra = n > 4 &&
		      (has_extra(e->ev.tag) || e->ev.tag == INV_TAG_OTHER);
	used = 4 + e->ev.extra;
	e->ev.ms_result = n > used && e->ev.tag == INV_TAG_CALL;
	used += e->ev.ms_result;
	slice(&e->ev, el, p, 1, used);
	if (timed)
		timestamp(e, c, p + el->at[n], el->at[n + 1] - el->at[n]);
	if (n > used)
		scheduler(e, c, p + el->at[used],
			  el->at[used + 1] - el->at[used]);
	return 0;
}

static int seq_tuple(struct inv_etf_event *e, struct inv_cursor *c,
		     struct elements *el, const uint8_t *p)
{
	int rc = walk(c, el, 1);

	if (rc)
		return rc;
	e->ev.tag = INV_TAG_SEQ_TRACE;
	slice(&e->ev, el, p, 1, 3);
	if (el->n == 4)
		timestamp(e, c, p + el->at[3], el->at[4] - el->at[3]);
	return 0;
}

static int drop_tuple(struct inv_etf_event *e, struct inv_cursor *c)
{
	int64_t n;
	int rc = inv_cursor_int(c, &n);

	if (rc)
		return rc;
	e->is_drop = n >= 0;
	e->dropped = e->is_drop ? (uint64_t)n : 0;
	return inv_cursor_end(c);
}

/* Determines the kind of the tuple from its first element, and decodes it. Sets
 * *known to false if it is of no known kind. */
static int tuple(struct inv_etf_event *e, struct inv_cursor *c,
		 const struct inv_token *open, const uint8_t *p, bool *known)
{
	struct elements el = { .n = open->count };
	struct inv_token tok;
	int rc;

	*known = false;
	if (el.n < 2 || el.n > MAX_ELEMENTS)
		return inv_cursor_leave(c, 0);
	rc = inv_cursor_next(c, &tok);
	if (rc)
		return rc < 0 ? rc : INV_EDAMAGED;
	if (el.n >= 4 && inv_token_is(&tok, "trace"))
		return trace_tuple(e, c, &el, p, false, known);
	if (el.n >= 5 && inv_token_is(&tok, "trace_ts"))
		return trace_tuple(e, c, &el, p, true, known);
	if (el.n <= 4 && el.n >= 3 && inv_token_is(&tok, "seq_trace")) {
		*known = true;
		return seq_tuple(e, c, &el, p);
	}
	if (el.n == 2 && inv_token_is(&tok, "drop")) {
		*known = true;
		return drop_tuple(e, c);
	}
	rc = inv_cursor_skip_rest(c, &tok);
	return rc ? rc : inv_cursor_leave(c, 0);
}

int inv_etf_event_decode(struct inv_etf_event *e, struct inv_cursor *c,
			 const uint8_t *p, size_t len)
{
	struct inv_token tok;
	bool known = false;
	int rc;

	memset(e, 0, offsetof(struct inv_etf_event, other));
	e->ev.enc = INV_ENC_ETF;
	e->ev.raw = p;
	e->ev.raw_len = len;
	inv_cursor_init(c, INV_ENC_ETF, NULL, p, len);
	rc = inv_cursor_next(c, &tok);
	if (rc)
		return rc < 0 ? rc : INV_ETRUNCATED;
	if (tok.kind == INV_TOK_TUPLE)
		rc = tuple(e, c, &tok, p, &known);
	else
		rc = inv_cursor_skip_rest(c, &tok);
	if (!rc && !known) {
		e->ev.tag = INV_TAG_OTHER;
		e->ev.bare = true;
		e->ev.other = NULL;
		e->ev.other_len = 0;
		e->ev.terms = p;
		e->ev.len = len;
	}
	return rc;
}
