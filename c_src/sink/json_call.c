/* SPDX-License-Identifier: Apache-2.0 */
/* The function of an event, and the call that the event ended. */
#include "sink/json_int.h"

#include <inttypes.h>
#include <stdio.h>

/* Writes arguments that are all integers from 0 to 255; they are encoded as a
 * string. */
static void small_args(struct inv_json_sink *j, const struct inv_token *tok)
{
	char rest[40];

	for (size_t i = 0; i < tok->len; i++) {
		inv_json_begin(&j->w, NULL);
		inv_buf_u64(j->w.out, tok->bytes[i]);
		inv_buf_putc(j->w.out, '"');
		j->w.more = true;
	}
	if (tok->cut) {
		snprintf(rest, sizeof(rest), "...(%" PRIu64 " more)",
			 tok->left);
		inv_json_text(&j->w, NULL, rest);
	}
}

static int list_args(struct inv_json_sink *j)
{
	struct inv_token tok;
	int rc;

	for (;;) {
		rc = inv_json_must(inv_cursor_next(j->sink.cursor, &tok));
		if (rc || tok.kind == INV_TOK_END)
			return rc;
		tok.sep = INV_SEP_NONE;
		rc = inv_json_term(j, NULL, &tok);
		if (rc)
			return rc;
	}
}

/* Writes the arguments of a call, an array of strings. */
static int args(struct inv_json_sink *j, const struct inv_event *ev,
		const struct inv_mfa *m)
{
	struct inv_cursor *c = j->sink.cursor;
	struct inv_token tok;
	int rc;

	if (!m->has_args)
		return 0;
	inv_mfa_third(m, c, ev);
	rc = inv_json_must(inv_cursor_next(c, &tok));
	if (rc)
		return rc;
	inv_json_open(&j->w, "args", '[');
	if (tok.kind == INV_TOK_STRING)
		small_args(j, &tok);
	else if (tok.kind == INV_TOK_LIST)
		rc = list_args(j);
	inv_json_close(&j->w, ']');
	return rc;
}

static void function(struct inv_json_sink *j, const struct inv_mfa *m)
{
	inv_json_bytes(&j->w, "module", m->module.bytes, m->module.len);
	inv_json_bytes(&j->w, "function", m->function.bytes, m->function.len);
	inv_json_uint(&j->w, "arity", m->arity);
}

/* Writes {Class,Reason}. */
static int exception(struct inv_json_sink *j)
{
	struct inv_token tok;
	int rc = inv_json_must(inv_cursor_next(j->sink.cursor, &tok));

	if (rc)
		return rc;
	inv_json_open(&j->w, "exception", '{');
	if (tok.kind == INV_TOK_TUPLE && tok.count == 2) {
		rc = inv_json_term(j, "class", NULL);
		if (!rc)
			rc = inv_json_term(j, "reason", NULL);
	} else {
		rc = inv_json_term(j, "reason", &tok);
	}
	inv_json_close(&j->w, '}');
	return rc;
}

/* Writes how the call ended. The cursor reads the event's payload. */
static int end(struct inv_json_sink *j, const struct inv_item *it)
{
	struct inv_cursor *c = j->sink.cursor;
	struct inv_token tok;
	int rc;

	switch (it->ev.tag) {
	case INV_TAG_RETURN_FROM:
		inv_json_text(&j->w, "end", "return");
		break;
	case INV_TAG_EXCEPTION_FROM:
		inv_json_text(&j->w, "end", "exception");
		break;
	default:
		inv_json_text(&j->w, "end", "exit");
		return 0;
	}
	rc = inv_event_tracee(&it->ev, c, &tok);
	if (!rc)
		rc = inv_event_payload(&it->ev, c);
	if (rc || !it->ev.extra)
		return rc;
	rc = inv_json_must(inv_cursor_skip(c));
	if (rc)
		return rc;
	return it->ev.tag == INV_TAG_RETURN_FROM ?
		       inv_json_term(j, "return", NULL) :
		       exception(j);
}

static void times(struct inv_json_sink *j, const struct inv_call *call)
{
	inv_json_time(j, "start", &j->start, call->begin_ts_ns);
	inv_json_int(&j->w, "duration_ns", call->duration_ns);
	inv_json_int(&j->w, "self_ns", call->self_ns);
	inv_json_uint(&j->w, "depth", call->depth);
	if (!call->certain)
		inv_json_bool(&j->w, "certain", false);
}

int inv_json_call(struct inv_json_sink *j, const struct inv_item *it)
{
	const struct inv_call *call = it->facts->call;
	const struct inv_mfa *m = it->facts->mfa;
	const struct inv_event *ev = &it->ev;
	int rc = 0;

	if (call && call->event) {
		m = call->mfa;
		ev = call->event;
	}
	if (m) {
		function(j, m);
		rc = args(j, ev, m);
	}
	if (!rc && (call || it->ev.tag == INV_TAG_RETURN_FROM ||
		    it->ev.tag == INV_TAG_EXCEPTION_FROM))
		rc = end(j, it);
	if (!rc && call)
		times(j, call);
	return rc;
}
