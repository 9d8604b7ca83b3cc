/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One JSON object on each line:
 *
 *	{"ts":…,"node":"…","pid":"…","names":[…],"tag":"…","payload":[…],
 *	 "result":"…","label":"…","scheduler":…,"truncated":true}
 *	{"lost":…,"reason":"…","ts":…,"node":"…"}
 *
 * Terms are strings, printed like ~w.
 */
#include "base/json.h"
#include "log/names.h"
#include "sink/formats.h"

struct json {
	struct inv_sink sink;
	struct inv_json w;
};

/* Makes the text of a node, which always follows "ts" and so starts with a
 * comma. */
static void node_text(struct inv_buf *b, const struct inv_node *node)
{
	struct inv_json w = { .out = b, .more = true };

	inv_json_text(&w, "node", node->name);
}

static int done(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

/* Writes a term as a string. tok: its first token; NULL: it is the cursor's
 * next term. */
static int term(struct json *j, const char *key, const struct inv_token *tok)
{
	size_t begin = inv_json_begin(&j->w, key);
	int rc;

	if (tok)
		rc = inv_term_print_token(j->sink.cursor, tok, j->w.out,
					  &j->sink.print);
	else
		rc = inv_term_print(j->sink.cursor, j->w.out, &j->sink.print);
	inv_json_end(&j->w, begin);
	return done(rc);
}

static void names(struct json *j, const struct inv_item *it,
		  const struct inv_token *tok)
{
	const struct inv_name *n = NULL;

	inv_json_open(&j->w, "names", '[');
	if (it->node->names && tok->kind == INV_TOK_PID && !tok->node)
		n = inv_names_find(it->node->names, tok->id[0], tok->id[1]);
	for (; n; n = n->next)
		if (inv_name_holds(n, it->ts_ns))
			inv_json_bytes(&j->w, NULL, n->text, n->len);
	inv_json_close(&j->w, ']');
}

/*
 * Finds the process of a seq_trace event {send | print | 'receive', Serial,
 * From, To, Message}: the receiver for 'receive', otherwise the sender. c is
 * before the payload.
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

static void no_process(struct json *j)
{
	inv_json_text(&j->w, "pid", "");
	inv_json_open(&j->w, "names", '[');
	inv_json_close(&j->w, ']');
}

static int process(struct json *j, const struct inv_item *it)
{
	struct inv_cursor *c = j->sink.cursor;
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, c, &tok);

	if (!rc && it->ev.tag == INV_TAG_SEQ_TRACE) {
		rc = inv_event_payload(&it->ev, c);
		if (!rc && seq_process(c, &tok)) {
			no_process(j);
			return 0;
		}
	}
	if (!rc)
		rc = term(j, "pid", &tok);
	if (!rc)
		names(j, it, &tok);
	return rc;
}

/* Writes the label of a seq_trace event. The log has the label in place of the
 * tracee. */
static int label(struct json *j, const struct inv_item *it)
{
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, j->sink.cursor, &tok);

	return rc ? rc : term(j, "label", &tok);
}

static int payload(struct json *j, const struct inv_event *ev)
{
	int rc = inv_event_payload(ev, j->sink.cursor);

	inv_json_open(&j->w, "payload", '[');
	if (!rc)
		rc = term(j, NULL, NULL);
	if (!rc && ev->extra)
		rc = term(j, NULL, NULL);
	inv_json_close(&j->w, ']');
	if (!rc && ev->ms_result)
		rc = term(j, "result", NULL);
	return rc;
}

/* Writes a term of a trace port's file that is not a trace event. */
static int bare(struct json *j, const struct inv_event *ev)
{
	int rc;

	inv_cursor_init(j->sink.cursor, INV_ENC_ETF, NULL, ev->raw,
			ev->raw_len);
	no_process(j);
	inv_json_text(&j->w, "tag", "");
	inv_json_open(&j->w, "payload", '[');
	rc = term(j, NULL, NULL);
	inv_json_close(&j->w, ']');
	return rc;
}

static void tag(struct json *j, const struct inv_event *ev)
{
	size_t len;
	const char *text = inv_event_tag(ev, &len);

	if (ev->tag == INV_TAG_OTHER)
		inv_json_bytes(&j->w, "tag", text, len);
	else
		inv_json_word(&j->w, "tag", text, len);
}

static int event(struct json *j, const struct inv_item *it)
{
	const struct inv_event *ev = &it->ev;
	int rc = process(j, it);

	if (rc)
		return rc;
	tag(j, ev);
	if (ev->tag == INV_TAG_SEQ_TRACE)
		rc = label(j, it);
	if (!rc)
		rc = payload(j, ev);
	if (ev->has_sched)
		inv_json_uint(&j->w, "scheduler", ev->sched);
	if (ev->cut)
		inv_json_bool(&j->w, "truncated", true);
	return rc;
}

static void head(struct json *j, const struct inv_item *it)
{
	inv_json_int(&j->w, "ts", it->ts_ns);
	inv_sink_node_text(&j->sink, it->node, node_text);
}

static int json_event(struct inv_sink *s, const struct inv_item *it)
{
	struct json *j = (struct json *)s;
	int rc;

	j->w = (struct inv_json){ .out = s->out };
	inv_json_open(&j->w, NULL, '{');
	head(j, it);
	rc = it->ev.bare ? bare(j, &it->ev) : event(j, it);
	inv_json_close(&j->w, '}');
	inv_json_line(&j->w);
	return rc;
}

static void json_loss(struct inv_sink *s, const struct inv_item *it)
{
	struct json *j = (struct json *)s;

	j->w = (struct inv_json){ .out = s->out };
	inv_json_open(&j->w, NULL, '{');
	inv_json_uint(&j->w, "lost", it->lost.n);
	inv_json_text(&j->w, "reason", inv_lost_text(it->lost.reason));
	head(j, it);
	inv_json_close(&j->w, '}');
	inv_json_line(&j->w);
}

const struct inv_sink_ops inv_sink_json = {
	.name = "json",
	.help = "one JSON object in each line",
	.size = sizeof(struct json),
	.event = json_event,
	.loss = json_loss,
};
