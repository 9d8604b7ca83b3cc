/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A format for Erlang programs: terms in the external format, each preceded by
 * its length (32 bits, big-endian), as ports with {packet, 4} expect it:
 *
 *	{Node, Time, Names, Term, Facts}
 *
 * Time is in ns since the Unix epoch. Names is a list. Term is the trace tuple
 * as OTP sends it to a tracer process, or {drop,N}. term/etf.h describes how
 * cut terms are written. Facts is a map of the facts that the flow has derived.
 */
#include "term/etf.h"
#include "flow/facts.h"
#include "log/names.h"
#include "sink/formats.h"

/* Begins the 5-tuple, with a length of 0 that finish() replaces. */
static void begin(struct inv_sink *s, const struct inv_item *it)
{
	inv_buf_put(s->out, "\0\0\0\0", 4);
	inv_buf_putc(s->out, (char)INV_ETF_VERSION);
	inv_etf_tuple(s->out, 5);
	inv_etf_atom(s->out, it->node->name, strlen(it->node->name));
	inv_etf_int(s->out, it->ts_ns);
}

static void finish(struct inv_sink *s, size_t start)
{
	size_t len = s->out->len - start - 4;

	if (s->out->error)
		return;
	for (unsigned i = 0; i < 4; i++)
		s->out->data[start + i] = (uint8_t)(len >> (24 - 8 * i));
}

static void names(struct inv_sink *s, const struct inv_item *it,
		  const struct inv_token *tok)
{
	const struct inv_name *name = NULL;
	const struct inv_name *n;
	uint32_t count = 0;

	if (it->node->names && tok->kind == INV_TOK_PID && !tok->node)
		name = inv_names_find(it->node->names, tok->id[0], tok->id[1]);
	for (n = name; n; n = n->next)
		count += (uint32_t)inv_name_holds(n, it->ts_ns);
	if (count)
		inv_etf_list(s->out, count);
	for (n = name; n; n = n->next)
		if (inv_name_holds(n, it->ts_ns))
			inv_buf_put(s->out, n->etf, n->etf_len);
	inv_etf_nil(s->out);
}

static void mega_sec_micro(struct inv_buf *out, int64_t ns)
{
	int64_t us = ns / 1000 - (ns % 1000 < 0);
	int64_t sec = us / 1000000 - (us % 1000000 < 0);

	inv_etf_tuple(out, 3);
	inv_etf_int(out, sec / 1000000);
	inv_etf_int(out, sec % 1000000);
	inv_etf_int(out, us - sec * 1000000);
}

static void timestamp(struct inv_buf *out, const struct inv_item *it)
{
	switch (it->ev.ts_kind) {
	case INV_TS_TIMESTAMP:
		mega_sec_micro(out, it->ts_ns);
		break;
	case INV_TS_CPU:
		mega_sec_micro(out, (int64_t)(it->ev.cpu_ns & INT64_MAX));
		break;
	case INV_TS_STRICT:
		inv_etf_tuple(out, 2);
		inv_etf_int(out, it->erl_ns);
		inv_etf_int(out, it->ev.unique);
		break;
	default:
		inv_etf_int(out, it->erl_ns);
		break;
	}
}

static int element(struct inv_sink *s, const struct inv_etf_home *home)
{
	int rc = inv_term_etf(s->cursor, home, s->out);

	return rc == INV_END ? INV_ETRUNCATED : rc;
}

static int payload(struct inv_sink *s, const struct inv_event *ev,
		   const struct inv_etf_home *home)
{
	int rc = inv_event_payload(ev, s->cursor);

	if (!rc)
		rc = element(s, home);
	if (!rc && ev->extra)
		rc = element(s, home);
	if (!rc && ev->ms_result)
		rc = element(s, home);
	return rc;
}

static int packed_tuple(struct inv_sink *s, const struct inv_item *it,
			const struct inv_token *tracee,
			const struct inv_etf_home *home)
{
	const struct inv_event *ev = &it->ev;
	bool seq = ev->tag == INV_TAG_SEQ_TRACE;
	const char *head = seq	       ? "seq_trace" :
			   ev->ts_kind ? "trace_ts" :
					 "trace";
	const char *tag;
	size_t len;
	int rc;

	inv_etf_tuple(s->out, 3u + !seq + ev->extra + ev->ms_result +
				      ev->has_sched + (ev->ts_kind != 0));
	inv_etf_atom(s->out, head, strlen(head));
	rc = inv_term_etf_token(s->cursor, tracee, home, s->out);
	if (rc)
		return rc;
	if (!seq) {
		tag = inv_event_tag(ev, &len);
		inv_etf_atom(s->out, tag, len);
	}
	rc = payload(s, ev, home);
	if (ev->has_sched)
		inv_etf_int(s->out, (int64_t)(ev->sched & INT64_MAX));
	if (ev->ts_kind)
		timestamp(s->out, it);
	return rc;
}

static void raw_term(struct inv_sink *s, const struct inv_event *ev)
{
	unsigned head = ev->raw_len && ev->raw[0] == INV_ETF_VERSION;

	inv_buf_put(s->out, ev->raw + head, ev->raw_len - head);
}

/* --- facts ---------------------------------------------------------------- */

static void key(struct inv_buf *out, const char *name)
{
	inv_etf_atom(out, name, strlen(name));
}

static void number(struct inv_buf *out, const char *name, int64_t v)
{
	key(out, name);
	inv_etf_int(out, v);
}

static const char *const ends[] = {
	[INV_CALL_RETURN] = "return",
	[INV_CALL_EXCEPTION] = "exception",
	[INV_CALL_EXIT] = "exit",
};

/* How many key-value pairs call() writes into the map, without the pair that
 * called() writes. */
#define CALL_PAIRS 6u

static void call(struct inv_buf *out, const struct inv_call *c)
{
	key(out, "end");
	key(out, ends[c->end]);
	number(out, "start", c->begin_ts_ns);
	number(out, "duration", c->duration_ns);
	number(out, "self", c->self_ns);
	number(out, "depth", c->depth);
	key(out, "certain");
	key(out, c->certain ? "true" : "false");
}

/* Writes the function and arguments of a call. `ev' is the call event, which
 * the flow has kept. */
static int called(struct inv_sink *s, const struct inv_event *ev,
		  const struct inv_etf_home *home)
{
	struct inv_token tok;
	int rc;

	key(s->out, "call");
	rc = inv_event_tracee(ev, s->cursor, &tok);
	if (!rc)
		rc = inv_event_payload(ev, s->cursor);
	return rc ? rc : element(s, home);
}

static int facts(struct inv_sink *s, const struct inv_facts *f,
		 const struct inv_etf_home *home)
{
	const struct inv_call *c = f ? f->call : NULL;
	bool name = f && f->name.len;
	bool kept = c && c->event;

	inv_etf_map(s->out, name + kept + (c ? CALL_PAIRS : 0));
	if (name) {
		key(s->out, "name");
		inv_etf_binary(s->out, f->name.text, f->name.len);
	}
	if (c)
		call(s->out, c);
	return kept ? called(s, c->event, home) : 0;
}

/* --- entries -------------------------------------------------------------- */

static int etf_event(struct inv_sink *s, const struct inv_item *it)
{
	const struct inv_etf_home home = { it->node->name, it->node->creation };
	struct inv_token tracee = { 0 };
	size_t start = s->out->len;
	int rc = 0;

	if (!it->ev.bare)
		rc = inv_event_tracee(&it->ev, s->cursor, &tracee);
	if (rc)
		return rc;
	begin(s, it);
	names(s, it, &tracee);
	if (it->ev.raw)
		raw_term(s, &it->ev);
	else
		rc = packed_tuple(s, it, &tracee, &home);
	if (!rc)
		rc = facts(s, it->facts, &home);
	finish(s, start);
	return rc;
}

static void etf_loss(struct inv_sink *s, const struct inv_item *it)
{
	size_t start = s->out->len;

	begin(s, it);
	inv_etf_nil(s->out);
	inv_etf_tuple(s->out, 2);
	inv_etf_atom(s->out, "drop", 4);
	inv_etf_int(s->out, (int64_t)(it->lost.n & INT64_MAX));
	inv_etf_map(s->out, 0);
	finish(s, start);
}

const struct inv_sink_ops inv_sink_etf = {
	.name = "etf",
	.help = "{Node, Time, Names, Term, Facts}, for Erlang programs",
	.size = sizeof(struct inv_sink),
	.event = etf_event,
	.loss = etf_loss,
};
