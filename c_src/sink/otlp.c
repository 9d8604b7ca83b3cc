/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans for OpenTelemetry. Each call that has ended is a span; an outermost
 * call and the calls inside it are a trace. Each hop of a request is a span; a
 * request is a trace. Each loss is a span. Calls are written when they have
 * ended, requests at the end of the log.
 *
 * Identifiers are hashes of what they identify, so each run over the same logs
 * writes the same identifiers.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "flow/flow.h"
#include "flow/seq.h"
#include "sink/formats.h"
#include "sink/hop_text.h"
#include "sink/otlp_span.h"
#include "sink/request_sink.h"
#include "term/simple.h"

struct otlp {
	struct inv_request_sink requests; /* the shared part of sinks of
					     requests; its first member is
					     the sink */
	struct inv_spans spans;
	struct inv_links links;
	struct inv_buf name;
	struct inv_buf text;
	struct inv_buf why;
	uint64_t n_lost;
	uint64_t seed; /* made from the first item. It is a part of the
			  identifiers of requests, because the numbers of
			  requests begin at 1 in each log */
};

static struct otlp *of(struct inv_sink *s)
{
	return (struct otlp *)s;
}

static int must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Returns an identifier. It is never 0, because 0 is not valid. */
static uint64_t id_of(uint64_t kind, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t id = mix(mix(mix(mix(kind) ^ a) ^ b) ^ c);

	return id ? id : 1;
}

enum {
	CALL = 1,
	HOP = 2,
	LOSS = 3,
	TRACE = 4
};

static void trace_is(struct inv_otlp_span *span, uint64_t a, uint64_t b,
		     uint64_t c)
{
	span->trace[0] = id_of(TRACE, a, b, c);
	span->trace[1] = id_of(TRACE + 1, a, b, c);
}

/* --- calls ---------------------------------------------------------------- */

static void put_function(struct otlp *o, const struct inv_mfa *m)
{
	const struct inv_print_opts *p = &o->requests.sink.print;
	struct inv_buf *b = &o->name;

	inv_buf_reset(b);
	if (p->syntax == INV_SYNTAX_ELIXIR) {
		inv_term_print_module(m->module.bytes, m->module.len, b, p);
		inv_term_print_function(m->function.bytes, m->function.len, b,
					p);
	} else {
		inv_term_print_atom(m->module.bytes, m->module.len, b, p);
		inv_buf_putc(b, ':');
		inv_term_print_atom(m->function.bytes, m->function.len, b, p);
	}
	inv_buf_putc(b, '/');
	inv_buf_u64(b, m->arity);
}

/* Prints the cursor's next term into b. */
static int put_term(struct otlp *o, struct inv_buf *b)
{
	inv_buf_reset(b);
	return must(inv_term_print(o->requests.sink.cursor, b,
				   &o->requests.sink.print));
}

static void text(struct otlp *o, const char *key, const struct inv_buf *b)
{
	inv_spans_text(&o->spans, key, b->data, b->len);
}

/* Prints what the call returned, or why it failed, into `why'. */
static int put_end(struct otlp *o, const struct inv_item *it)
{
	struct inv_cursor *c = o->requests.sink.cursor;
	struct inv_token tok;
	int rc;

	inv_buf_reset(&o->why);
	if (it->ev.tag == INV_TAG_EXIT) {
		inv_buf_puts(&o->why, "the process exited");
		return 0;
	}
	rc = inv_event_tracee(&it->ev, c, &tok);
	if (!rc)
		rc = inv_event_payload(&it->ev, c);
	if (rc || !it->ev.extra)
		return rc;
	rc = must(inv_cursor_skip(c));
	return rc ? rc : put_term(o, &o->why);
}

static int args(struct otlp *o, const struct inv_call *call)
{
	int rc;

	if (!call->event || !call->mfa || !call->mfa->has_args)
		return 0;
	inv_mfa_third(call->mfa, o->requests.sink.cursor, call->event);
	rc = put_term(o, &o->text);
	if (!rc)
		text(o, "erlang.args", &o->text);
	return rc;
}

static void process(struct otlp *o, const struct inv_item *it,
		    const struct inv_token *tok)
{
	const struct inv_process_name *name = &it->facts->name;
	struct inv_buf *b = &o->text;

	inv_buf_reset(b);
	inv_buf_puts(b, tok->kind == INV_TOK_PORT ? "#Port<0." : "<0.");
	inv_buf_u64(b, tok->id[0]);
	if (tok->kind == INV_TOK_PID) {
		inv_buf_putc(b, '.');
		inv_buf_u64(b, tok->id[1]);
	}
	inv_buf_putc(b, '>');
	text(o, "erlang.pid", b);
	if (name->len)
		inv_spans_text(&o->spans, "erlang.process.name", name->text,
			       name->len);
}

static int call_attributes(struct otlp *o, const struct inv_item *it,
			   const struct inv_token *tok)
{
	const struct inv_call *call = it->facts->call;
	bool returned = it->ev.tag == INV_TAG_RETURN_FROM;
	int rc = args(o, call);

	if (rc)
		return rc;
	text(o, "code.function.name", &o->name);
	process(o, it, tok);
	if (returned && o->why.len)
		text(o, "erlang.return", &o->why);
	else if (!returned)
		text(o, "exception.message", &o->why);
	inv_spans_int(&o->spans, "erlang.self_ns", call->self_ns);
	if (!call->certain)
		inv_spans_bool(&o->spans, "inviso.certain", false);
	if (it->ev.cut || (call->event && call->event->cut))
		inv_spans_bool(&o->spans, "inviso.truncated", true);
	if (it->ev.redacted || (call->event && call->event->redacted))
		inv_spans_bool(&o->spans, "inviso.redacted", true);
	return 0;
}

/* A returned value such as {error, Reason} is a failure, too. */
static bool is_error(const struct otlp *o)
{
	const struct inv_buf *b = &o->why;

	return (b->len == 5 && !memcmp(b->data, "error", 5)) ||
	       (b->len == 6 && !memcmp(b->data, ":error", 6)) ||
	       (b->len > 6 && !memcmp(b->data, "{error,", 7)) ||
	       (b->len > 7 && !memcmp(b->data, "{:error,", 8));
}

static void link_call(struct otlp *o, const struct inv_item *it,
		      const struct inv_token *tok, struct inv_otlp_span *span)
{
	const struct inv_otlp_link link = {
		.trace = { span->trace[0], span->trace[1] },
		.span = span->id,
	};

	span->n_links = inv_links_call(&o->links, inv_seq_pid(it, tok),
				       span->begin_ns, &link, span->links);
}

static int call(struct otlp *o, const struct inv_item *it)
{
	const struct inv_call *c = it->facts->call;
	const struct inv_mfa *m = c->mfa ? c->mfa : it->facts->mfa;
	struct inv_otlp_span span = { .kind = INV_SPAN_INTERNAL };
	struct inv_token tok;
	uint64_t process;
	int rc = put_end(o, it);

	if (!rc)
		rc = inv_event_tracee(&it->ev, o->requests.sink.cursor, &tok);
	if (rc)
		return rc;
	inv_buf_reset(&o->name);
	if (m)
		put_function(o, m);
	process = id_of(it->node->key, it->node->number, tok.id[0],
			tok.kind == INV_TOK_PID ? tok.id[1] : UINT64_MAX);
	trace_is(&span, CALL, process, (uint64_t)c->outermost_ts_ns);
	span.id = id_of(CALL, process, (uint64_t)c->begin_ts_ns, c->depth);
	if (c->depth)
		span.parent = id_of(CALL, process, (uint64_t)c->around_ts_ns,
				    c->depth - 1);
	span.name = (const char *)o->name.data;
	span.name_len = o->name.len;
	span.begin_ns = c->begin_ts_ns;
	span.end_ns = it->ts_ns > c->begin_ts_ns ? it->ts_ns : c->begin_ts_ns;
	span.failed = it->ev.tag != INV_TAG_RETURN_FROM || is_error(o);
	span.why = (const char *)o->why.data;
	span.why_len = o->why.len;
	if (!c->depth)
		link_call(o, it, &tok, &span);
	if (!inv_spans_open(&o->spans, it->node, &span))
		return 0;
	rc = call_attributes(o, it, &tok);
	if (rc)
		inv_spans_cancel(&o->spans);
	else
		inv_spans_close(&o->spans, &span);
	return rc;
}

/* --- requests ------------------------------------------------------------- */

/* Returns the node of the process, or NULL if the node has no log. */
static const struct inv_node *node_of(const struct otlp *o, uint32_t process)
{
	const struct inv_hops *h = &o->requests.hops;
	uint32_t n;

	if (process == INV_HOP_NONE)
		return NULL;
	n = h->nodes[h->processes[process]->node].number;
	return n < o->spans.n_nodes ? o->spans.nodes[n].node : NULL;
}

static void party(struct otlp *o, const char *key, uint32_t process)
{
	if (process == INV_HOP_NONE)
		return;
	inv_buf_reset(&o->text);
	inv_hop_process_text(&o->requests.hops, process, &o->text);
	text(o, key, &o->text);
}

static void hop_name(struct otlp *o, const struct inv_hop *p)
{
	const struct inv_hops *h = &o->requests.hops;
	struct inv_buf *b = &o->name;

	inv_buf_reset(b);
	if (p->kind == INV_HOP_BEGIN) {
		inv_buf_printf(b, "request %s", inv_hops_text(h, p->label));
	} else if (p->kind == INV_HOP_PRINT) {
		inv_buf_puts(b, "print");
	} else {
		inv_buf_puts(b, inv_hop_arrived(p) ? "receive " : "send ");
		if (inv_hop_arrived(p))
			inv_hop_name_text(h, p->to, b);
		else
			inv_hop_aim_text(h, p, b);
	}
}

static void hop_attributes(struct otlp *o, const struct inv_hop *p)
{
	const char *orphan = inv_orphan_text((enum inv_orphan)p->orphan);

	inv_spans_int(&o->spans, "inviso.request", (int64_t)p->request);
	inv_buf_reset(&o->text);
	inv_hop_what(&o->requests.hops, p, &o->text);
	text(o, "erlang.message", &o->text);
	party(o, "erlang.from", p->from);
	party(o, "erlang.to", p->to);
	if (p->send_id && p->receive_id && p->kind == INV_HOP_MESSAGE)
		inv_spans_int(&o->spans, "erlang.mailbox_ns",
			      p->received_ns - p->sent_ns);
	if (p->critical)
		inv_spans_bool(&o->spans, "inviso.critical", true);
	if (!p->certain)
		inv_spans_bool(&o->spans, "inviso.certain", false);
	if (orphan)
		inv_spans_text(&o->spans, "inviso.orphan", orphan,
			       strlen(orphan));
}

static uint64_t hop_id(const struct inv_hop *p)
{
	return id_of(HOP, p->request, p->send_id, p->receive_id);
}

/* If the event belongs to a request, stores the turn in which it happened
 * (sink/otlp_link.h). */
static void turn(struct otlp *o, const struct inv_item *it)
{
	const struct inv_hops *h = &o->requests.hops;
	const struct inv_cause *c = it->facts ? it->facts->cause : NULL;
	uint32_t i = c ? inv_hops_find(h, c->id) : INV_HOP_NONE;
	struct inv_otlp_span span;
	struct inv_otlp_link link;

	if (i != INV_HOP_NONE && h->v[i].receive_id != c->id)
		i = h->v[i].parent;
	if (i == INV_HOP_NONE || !inv_hop_arrived(&h->v[i]))
		return;
	trace_is(&span, HOP, h->v[i].request, o->seed);
	link.trace[0] = span.trace[0];
	link.trace[1] = span.trace[1];
	link.span = hop_id(&h->v[i]);
	inv_links_turn(&o->links, h->processes[h->v[i].to]->key, it->ts_ns,
		       &link);
}

static void hop(struct otlp *o, const struct inv_hop *p)
{
	const struct inv_hops *h = &o->requests.hops;
	const struct inv_node *node = node_of(o, p->to);
	struct inv_otlp_span span = {
		.kind = p->kind == INV_HOP_MESSAGE ? INV_SPAN_CONSUMER :
						     INV_SPAN_INTERNAL,
		.id = hop_id(p),
		.begin_ns = inv_hop_time(p),
		.end_ns = inv_hop_arrived(p) ? p->last_ns : inv_hop_time(p),
	};

	if (!node)
		node = node_of(o, p->from);
	if (!node && o->spans.n_nodes)
		node = o->spans.nodes[0].node;
	if (!node)
		return;
	if (span.end_ns < span.begin_ns)
		span.end_ns = span.begin_ns;
	trace_is(&span, HOP, p->request, o->seed);
	if (p->parent != INV_HOP_NONE)
		span.parent = hop_id(&h->v[p->parent]);
	span.n_links = inv_links_of(&o->links, span.id, span.links);
	hop_name(o, p);
	span.name = (const char *)o->name.data;
	span.name_len = o->name.len;
	if (!inv_spans_open(&o->spans, node, &span))
		return;
	hop_attributes(o, p);
	inv_spans_close(&o->spans, &span);
}

/* --- the sink ------------------------------------------------------------- */

static int event(struct inv_sink *s, const struct inv_item *it)
{
	struct otlp *o = of(s);

	o->spans.out = s->out;
	if (!o->seed)
		o->seed = it->node->key ^ (uint64_t)it->ts_ns;
	inv_sink_manner(s, it);
	/* Stores the node, because the spans of requests find their node by its
	 * number. */
	if (it->node->number >= o->spans.n_nodes ||
	    !o->spans.nodes[it->node->number].node)
		inv_spans_know(&o->spans, it->node);
	if (it->ev.tag == INV_TAG_SEQ_TRACE) {
		int rc = inv_request_sink_event(s, it);

		if (!rc)
			turn(o, it);
		return rc;
	}
	if (it->facts && it->facts->call)
		return call(o, it);
	return 0;
}

static void loss(struct inv_sink *s, const struct inv_item *it)
{
	struct otlp *o = of(s);
	const char *reason = inv_lost_text(it->lost.reason);
	struct inv_otlp_span span = {
		.kind = INV_SPAN_INTERNAL,
		.begin_ns = it->ts_ns,
		.end_ns = it->ts_ns,
		.failed = true,
		.why = reason,
		.why_len = strlen(reason),
		.name = "lost events",
		.name_len = 11,
	};

	o->spans.out = s->out;
	inv_request_sink_loss(s, it);
	/* These events came after the end of the recording, so they are no
	 * loss. */
	if (it->lost.reason == INV_LOSS_LIMIT)
		return;
	trace_is(&span, LOSS, it->node->number, ++o->n_lost);
	span.id = id_of(LOSS, it->node->number, o->n_lost, 0);
	if (!inv_spans_open(&o->spans, it->node, &span))
		return;
	inv_spans_int(&o->spans, "inviso.lost", (int64_t)it->lost.n);
	inv_spans_text(&o->spans, "inviso.reason", reason, strlen(reason));
	inv_spans_close(&o->spans, &span);
}

static void end(struct inv_sink *s)
{
	struct otlp *o = of(s);
	const struct inv_hops *h = &o->requests.hops;

	o->spans.out = s->out;
	if (inv_hops_finish(&o->requests.hops)) {
		s->out->error = INV_ENOMEM;
		return;
	}
	inv_links_end(&o->links);
	for (uint32_t i = 0; i < h->n && !s->err.code; i++)
		hop(o, &h->v[i]);
	inv_spans_flush(&o->spans);
	if (o->name.error || o->text.error || o->why.error || o->links.failed)
		s->out->error = INV_ENOMEM;
}

static int init_proto(struct inv_sink *s)
{
	of(s)->spans.taker = s->opts.spans;
	of(s)->spans.err = &s->err;
	return inv_request_sink_init(s);
}

static int init_json(struct inv_sink *s)
{
	of(s)->spans.json = true;
	return inv_request_sink_init(s);
}

static void release(struct inv_sink *s)
{
	struct otlp *o = of(s);

	inv_request_sink_release(s);
	inv_spans_release(&o->spans);
	inv_links_release(&o->links);
	inv_buf_release(&o->name);
	inv_buf_release(&o->text);
	inv_buf_release(&o->why);
}

const struct inv_sink_ops inv_sink_otlp = {
	.name = "otlp",
	.help = "spans for OpenTelemetry, as JSON",
	.calls = true,
	.size = sizeof(struct otlp),
	.init = init_json,
	.event = event,
	.loss = loss,
	.end = end,
	.release = release,
};

const struct inv_sink_ops inv_sink_otlp_proto = {
	.name = "otlp-proto",
	.help = "spans for OpenTelemetry, as protocol buffers",
	.calls = true,
	.binary = true,
	.size = sizeof(struct otlp),
	.init = init_proto,
	.event = event,
	.loss = loss,
	.end = end,
	.release = release,
};
