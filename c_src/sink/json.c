/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One JSON object a line:
 *
 *	{"ts":…,"node":"…","pid":"…","names":[…],"tag":"…","payload":[…],
 *	 "result":"…","label":"…","scheduler":…,"truncated":true}
 *	{"lost":…,"reason":"…","ts":…,"node":"…"}
 *
 * Terms are strings as ~w prints them: text that is valid UTF-8 already, so
 * that only quotes, backslashes and control characters need care.
 */
#include "log/names.h"
#include "sink/formats.h"
#include "sink/jsontext.h"

struct json {
	struct inv_sink sink;
	struct inv_buf scratch;
};

static void escape_tail(struct json *j, size_t from)
{
	inv_json_escape(j->sink.out, from, &j->scratch);
}

static void node_text(struct inv_buf *b, const struct inv_node *node)
{
	struct json j = { .sink = { .out = b } };

	inv_buf_puts(b, ",\"node\":\"");
	inv_buf_puts(b, node->name);
	escape_tail(&j, 9);
	inv_buf_release(&j.scratch);
	inv_buf_putc(b, '"');
}

static int done(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

/* The next term of the cursor, or the one that tok begins, as a string. */
static int term(struct json *j, const struct inv_token *tok)
{
	struct inv_buf *out = j->sink.out;
	size_t from;
	int rc;

	inv_buf_putc(out, '"');
	from = out->len;
	if (tok)
		rc = inv_term_print_token(j->sink.cursor, tok, out,
					  &j->sink.print);
	else
		rc = inv_term_print(j->sink.cursor, out, &j->sink.print);
	escape_tail(j, from);
	inv_buf_putc(out, '"');
	return done(rc);
}

static void names(struct json *j, const struct inv_item *it,
		  const struct inv_token *tok)
{
	struct inv_buf *out = j->sink.out;
	const struct inv_name *n = NULL;
	const char *sep = "";

	inv_buf_puts(out, ",\"names\":[");
	if (it->node->names && tok->kind == INV_TOK_PID && !tok->node)
		n = inv_names_find(it->node->names, tok->id[0], tok->id[1]);
	for (; n; n = n->next) {
		size_t from;

		if (!inv_name_holds(n, it->ts_ns))
			continue;
		inv_buf_puts(out, sep);
		inv_buf_putc(out, '"');
		from = out->len;
		inv_buf_put(out, n->text, n->len);
		escape_tail(j, from);
		inv_buf_putc(out, '"');
		sep = ",";
	}
	inv_buf_putc(out, ']');
}

/*
 * The process that a seq_trace event happened in: of
 * {send | print | 'receive', Serial, From, To, Message}
 * the receiver, if it was received, else the sender.  c is before the payload.
 */
static int seq_process(struct inv_cursor *c, struct inv_token *tok)
{
	bool receive;

	if (inv_cursor_next(c, tok) || tok->kind != INV_TOK_TUPLE ||
	    tok->count != 5 || inv_cursor_next(c, tok))
		return INV_EDAMAGED;
	receive = inv_token_is(tok, "receive");
	if (inv_cursor_skip_rest(c, tok) || inv_cursor_skip(c) ||
	    (receive && inv_cursor_skip(c)))
		return INV_EDAMAGED;
	return done(inv_cursor_next(c, tok));
}

static int process(struct json *j, const struct inv_item *it)
{
	struct inv_cursor *c = j->sink.cursor;
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, c, &tok);

	if (!rc && it->ev.tag == INV_TAG_SEQ_TRACE) {
		rc = inv_event_payload(&it->ev, c);
		if (!rc && seq_process(c, &tok)) {
			inv_buf_puts(j->sink.out, ",\"pid\":\"\",\"names\":[]");
			return 0;
		}
	}
	if (rc)
		return rc;
	inv_buf_puts(j->sink.out, ",\"pid\":");
	rc = term(j, &tok);
	if (!rc)
		names(j, it, &tok);
	return rc;
}

/* The label, where the tracee is otherwise; leaves the cursor behind it. */
static int label(struct json *j, const struct inv_item *it)
{
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, j->sink.cursor, &tok);

	if (rc)
		return rc;
	inv_buf_puts(j->sink.out, ",\"label\":");
	return term(j, &tok);
}

static int payload(struct json *j, const struct inv_event *ev)
{
	struct inv_buf *out = j->sink.out;
	int rc = inv_event_payload(ev, j->sink.cursor);

	inv_buf_puts(out, ",\"payload\":[");
	if (!rc)
		rc = term(j, NULL);
	if (!rc && ev->extra) {
		inv_buf_putc(out, ',');
		rc = term(j, NULL);
	}
	inv_buf_putc(out, ']');
	if (!rc && ev->ms_result) {
		inv_buf_puts(out, ",\"result\":");
		rc = term(j, NULL);
	}
	return rc;
}

static void head(struct json *j, const struct inv_item *it)
{
	inv_buf_puts(j->sink.out, "\"ts\":");
	inv_buf_i64(j->sink.out, it->ts_ns);
	inv_sink_node_text(&j->sink, it->node, node_text);
}

/* A term in a trace port's file that is no trace event. */
static int bare(struct json *j, const struct inv_event *ev)
{
	int rc;

	inv_cursor_init(j->sink.cursor, INV_ENC_ETF, NULL, ev->raw,
			ev->raw_len);
	inv_buf_puts(j->sink.out,
		     ",\"pid\":\"\",\"names\":[],\"tag\":\"\",\"payload\":[");
	rc = term(j, NULL);
	inv_buf_puts(j->sink.out, "]}\n");
	return rc;
}

static void tag(struct json *j, const struct inv_event *ev)
{
	size_t len, from;
	const char *text = inv_event_tag(ev, &len);

	inv_buf_puts(j->sink.out, ",\"tag\":\"");
	from = j->sink.out->len;
	inv_buf_put(j->sink.out, text, len);
	if (ev->tag == INV_TAG_OTHER)
		escape_tail(j, from);
	inv_buf_putc(j->sink.out, '"');
}

static int json_event(struct inv_sink *s, const struct inv_item *it)
{
	struct json *j = (struct json *)s;
	const struct inv_event *ev = &it->ev;
	int rc;

	inv_buf_putc(s->out, '{');
	head(j, it);
	if (ev->bare)
		return bare(j, ev);
	rc = process(j, it);
	if (rc)
		return rc;
	tag(j, ev);
	if (ev->tag == INV_TAG_SEQ_TRACE)
		rc = label(j, it);
	if (!rc)
		rc = payload(j, ev);
	if (ev->has_sched) {
		inv_buf_puts(s->out, ",\"scheduler\":");
		inv_buf_u64(s->out, ev->sched);
	}
	if (ev->cut)
		inv_buf_puts(s->out, ",\"truncated\":true");
	inv_buf_puts(s->out, "}\n");
	return rc;
}

static void json_loss(struct inv_sink *s, const struct inv_item *it)
{
	inv_buf_puts(s->out, "{\"lost\":");
	inv_buf_u64(s->out, it->lost.n);
	inv_buf_puts(s->out, ",\"reason\":\"");
	inv_buf_puts(s->out, inv_lost_text(it->lost.reason));
	inv_buf_puts(s->out, "\",");
	head((struct json *)s, it);
	inv_buf_puts(s->out, "}\n");
}

static void json_release(struct inv_sink *s)
{
	inv_buf_release(&((struct json *)s)->scratch);
}

const struct inv_sink_ops inv_sink_json = {
	.name = "json",
	.help = "one JSON object a line",
	.size = sizeof(struct json),
	.event = json_event,
	.loss = json_loss,
	.release = json_release,
};
