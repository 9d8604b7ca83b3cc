/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One JSON object on each line:
 *
 *	{"ts":…,"time":"…","node":"…","pid":"…","names":[…],
 *	 "process":{…},"tag":"…","label":"…","payload":[…],
 *	 "result":"…","id":…,"cause":…,"certain":…,"request":…,
 *	 "orphan":"…","signal":"…","from":{…},"to":{…},
 *	 "module":"…","function":"…","arity":…,"args":[…],
 *	 "end":"…","return":"…","exception":{…},"start":"…",
 *	 "duration_ns":…,"self_ns":…,"depth":…,"certain":false,
 *	 "scheduler":…,"truncated":true,"redacted":true}
 *	{"lost":…,"reason":"…","ts":…,"time":"…","node":"…"}
 *
 * Terms are strings, printed like ~w. sink/json_process.c writes processes, and
 * sink/json_call.c what is known about calls.
 */
#include "sink/json_int.h"

#include <stddef.h>

#include "log/names.h"
#include "sink/formats.h"

/* Makes the text of a node. It starts with a comma, because it always follows
 * "ts". */
static void node_text(struct inv_buf *b, const struct inv_node *node)
{
	struct inv_json w = { .out = b, .more = true };

	inv_json_text(&w, "node", node->name);
}

void inv_json_time(struct inv_json_sink *j, const char *key,
		   struct inv_timefmt *t, int64_t ts_ns)
{
	inv_json_begin(&j->w, key);
	inv_timefmt_iso(t, ts_ns, j->w.out);
	inv_json_end_plain(&j->w);
}

int inv_json_term(struct inv_json_sink *j, const char *key,
		  const struct inv_token *tok)
{
	size_t begin = inv_json_begin(&j->w, key);
	int rc;

	if (tok)
		rc = inv_term_print_token(j->sink.cursor, tok, j->w.out,
					  &j->sink.print);
	else
		rc = inv_term_print(j->sink.cursor, j->w.out, &j->sink.print);
	inv_json_end(&j->w, begin);
	return inv_json_must(rc);
}

static void names(struct inv_json_sink *j, const struct inv_item *it,
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

static void no_process(struct inv_json_sink *j)
{
	inv_json_text(&j->w, "pid", "");
	inv_json_open(&j->w, "names", '[');
	inv_json_close(&j->w, ']');
}

/* The facts that determine how a process is written, if no ti files (files with
 * names of processes) are merged. */
struct process_key {
	uint64_t number;
	uint64_t serial;
	uint32_t node;
	uint8_t kind;
	uint8_t registered;
	uint8_t name_len;
	uint8_t zero;
	uint8_t name[INV_NAME_MAX];
};

/* Returns the length of the key, or 0 if the process must not be cached. */
static size_t process_key(struct process_key *k, const struct inv_item *it,
			  const struct inv_token *tok)
{
	const struct inv_process_name *name;

	if (!it->facts || it->ev.tag == INV_TAG_SEQ_TRACE || it->node->names ||
	    tok->kind != INV_TOK_PID || tok->node || tok->len)
		return 0;
	name = &it->facts->name;
	k->number = tok->id[0];
	k->serial = tok->id[1];
	k->node = it->node->number;
	k->kind = tok->kind;
	k->registered = name->registered;
	k->name_len = (uint8_t)name->len;
	k->zero = 0;
	if (name->len)
		memcpy(k->name, name->text, name->len);
	return offsetof(struct process_key, name) + name->len;
}

static int tracee(struct inv_json_sink *j, const struct inv_item *it,
		  const struct inv_token *tok)
{
	struct process_key key;
	size_t key_len = process_key(&key, it, tok);
	uint64_t hash = tok->id[0] + tok->id[1] * 31 + it->node->number * 7;
	size_t begin = j->w.out->len;
	int rc;

	if (key_len &&
	    inv_json_cache_put(&j->processes, &key, key_len, hash, j->w.out))
		return 0;
	rc = inv_json_term(j, "pid", tok);
	if (rc)
		return rc;
	names(j, it, tok);
	inv_json_process(j, "process", it, tok,
			 it->facts && key_len ? &it->facts->name : NULL);
	inv_json_cache_add(&j->processes, &key, key_len, hash, j->w.out, begin);
	return 0;
}

static int process(struct inv_json_sink *j, const struct inv_item *it)
{
	struct inv_token tok;
	int rc = inv_sink_process(&j->sink, it, &tok);

	if (rc == INV_END) {
		no_process(j);
		return 0;
	}
	return rc ? rc : tracee(j, it, &tok);
}

/* Writes the label of a seq_trace event. If the request has no label, writes
 * the token's label. In a seq_trace event this label is the term that is the
 * tracee in other events. */
static int label(struct inv_json_sink *j, const struct inv_item *it)
{
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, j->sink.cursor, &tok);

	if (rc || !it->facts || !it->facts->label)
		return rc ? rc : inv_json_term(j, "label", &tok);
	inv_json_text(&j->w, "label", it->facts->label);
	return 0;
}

static int payload(struct inv_json_sink *j, const struct inv_item *it)
{
	const struct inv_event *ev = &it->ev;
	int rc = inv_event_payload(ev, j->sink.cursor);

	j->n_args = 0;
	inv_json_open(&j->w, "payload", '[');
	if (!rc && ev->tag == INV_TAG_CALL && it->facts && it->facts->mfa &&
	    it->facts->mfa->has_args)
		rc = inv_json_mfa(j, it);
	else if (!rc)
		rc = inv_json_term(j, NULL, NULL);
	if (!rc && ev->extra)
		rc = inv_json_term(j, NULL, NULL);
	inv_json_close(&j->w, ']');
	if (!rc && ev->ms_result)
		rc = inv_json_term(j, "result", NULL);
	return rc;
}

/* Writes the receiver of a message. */
static int receiver(struct inv_json_sink *j, const struct inv_item *it)
{
	struct inv_token tok;
	int rc = inv_event_tracee(&it->ev, j->sink.cursor, &tok);

	if (!rc)
		rc = inv_event_payload(&it->ev, j->sink.cursor);
	if (!rc)
		rc = inv_json_must(inv_cursor_skip(j->sink.cursor));
	return rc ? rc : inv_json_receiver(j, it);
}

/* Writes the facts that the flow derived about the event. */
static int derived(struct inv_json_sink *j, const struct inv_item *it)
{
	switch (it->ev.tag) {
	case INV_TAG_SEND:
	case INV_TAG_SEND_NO_PROC:
		return it->ev.extra ? receiver(j, it) : 0;
	case INV_TAG_SEQ_TRACE:
		if (it->facts->cause)
			inv_json_cause(j, it->facts->cause);
		return inv_json_seq(j, it);
	default:
		if (it->facts->gc)
			inv_json_int(&j->w, "duration_ns",
				     it->facts->gc->duration_ns);
		return inv_json_call(j, it);
	}
}

/* Writes a term that is not a trace event, from the file of a trace port. */
static int bare(struct inv_json_sink *j, const struct inv_event *ev)
{
	int rc;

	inv_cursor_init(j->sink.cursor, INV_ENC_ETF, NULL, ev->raw,
			ev->raw_len);
	no_process(j);
	inv_json_text(&j->w, "tag", "");
	inv_json_open(&j->w, "payload", '[');
	rc = inv_json_term(j, NULL, NULL);
	inv_json_close(&j->w, ']');
	return rc;
}

static void tag(struct inv_json_sink *j, const struct inv_event *ev)
{
	size_t len;
	const char *text = inv_event_tag(ev, &len);

	if (ev->tag == INV_TAG_OTHER)
		inv_json_bytes(&j->w, "tag", text, len);
	else
		inv_json_word(&j->w, "tag", text, len);
}

/* Returns true if a value in the object is redacted. The object for the end of
 * a call also has the arguments of the call. */
static bool is_redacted(const struct inv_item *it)
{
	const struct inv_call *call = it->facts ? it->facts->call : NULL;

	return it->ev.redacted ||
	       (call && call->event && call->event->redacted);
}

static int event(struct inv_json_sink *j, const struct inv_item *it)
{
	const struct inv_event *ev = &it->ev;
	int rc = process(j, it);

	if (rc)
		return rc;
	tag(j, ev);
	if (ev->tag == INV_TAG_SEQ_TRACE)
		rc = label(j, it);
	if (!rc)
		rc = payload(j, it);
	if (!rc && it->facts)
		rc = derived(j, it);
	if (it->moved_ns)
		inv_json_int(&j->w, "moved_ns", it->moved_ns);
	if (ev->has_sched)
		inv_json_uint(&j->w, "scheduler", ev->sched);
	if (ev->cut)
		inv_json_bool(&j->w, "truncated", true);
	if (is_redacted(it))
		inv_json_bool(&j->w, "redacted", true);
	return rc;
}

static void head(struct inv_json_sink *j, const struct inv_item *it)
{
	inv_json_key(&j->w, "ts");
	inv_timefmt_ns(&j->time, it->ts_ns, j->w.out);
	j->w.more = true;
	inv_json_time(j, "time", &j->time, it->ts_ns);
	inv_sink_node_text(&j->sink, it->node, node_text);
}

static int json_event(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_json_sink *j = (struct inv_json_sink *)s;
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
	struct inv_json_sink *j = (struct inv_json_sink *)s;

	j->w = (struct inv_json){ .out = s->out };
	inv_json_open(&j->w, NULL, '{');
	inv_json_uint(&j->w, "lost", it->lost.n);
	inv_json_text(&j->w, "reason", inv_lost_text(it->lost.reason));
	head(j, it);
	inv_json_close(&j->w, '}');
	inv_json_line(&j->w);
}

static int json_init(struct inv_sink *s)
{
	struct inv_json_sink *j = (struct inv_json_sink *)s;

	j->time.utc = j->start.utc = true;
	return 0;
}

static void json_release(struct inv_sink *s)
{
	struct inv_json_sink *j = (struct inv_json_sink *)s;

	inv_json_cache_release(&j->processes);
	inv_buf_release(&j->spare);
}

const struct inv_sink_ops inv_sink_json = {
	.name = "json",
	.help = "one JSON object in each line",
	.size = sizeof(struct inv_json_sink),
	.calls = true,
	.init = json_init,
	.event = json_event,
	.loss = json_loss,
	.release = json_release,
};
