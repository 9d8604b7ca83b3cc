/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the function of an event, and the call that the event ended. */
#include "sink/json_int.h"

#include <inttypes.h>
#include <stdio.h>

#include "term/simple.h"

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

/* Writes the arguments. */
static int mfa_list(struct inv_json_sink *j)
{
	struct inv_buf *out = j->w.out;
	struct inv_token tok;
	unsigned n = 0;
	int rc;

	for (;;) {
		rc = inv_json_must(inv_cursor_next(j->sink.cursor, &tok));
		if (rc || tok.kind == INV_TOK_END)
			break;
		if (n)
			inv_buf_putc(out, tok.sep == INV_SEP_BAR ? '|' : ',');
		tok.sep = INV_SEP_NONE;
		if (n < INV_JSON_ARGS)
			j->args[n] = out->len;
		rc = inv_json_must(inv_term_print_token(j->sink.cursor, &tok,
							out, &j->sink.print));
		if (rc)
			break;
		n++;
	}
	if (n <= INV_JSON_ARGS) {
		j->args[n] = out->len + 1;
		j->n_args = n;
	}
	return rc;
}

/* Writes the third element of {M,F,Args}. */
static int mfa_args(struct inv_json_sink *j, const struct inv_item *it)
{
	struct inv_cursor *c = j->sink.cursor;
	struct inv_token tok;
	int rc;

	inv_mfa_third(it->facts->mfa, c, &it->ev);
	rc = inv_json_must(inv_cursor_next(c, &tok));
	if (rc)
		return rc;
	if (tok.kind != INV_TOK_LIST)
		return inv_json_must(inv_term_print_token(c, &tok, j->w.out,
							  &j->sink.print));
	inv_buf_putc(j->w.out, '[');
	rc = mfa_list(j);
	inv_buf_putc(j->w.out, ']');
	return rc;
}

static void put_atom(struct inv_json_sink *j, const struct inv_mfa_atom *a)
{
	if (a->plain)
		inv_buf_put(j->w.out, a->bytes, a->len);
	else
		inv_term_print_atom(a->bytes, a->len, j->w.out, &j->sink.print);
}

/* Writes "{M,F,[" for plain atoms. */
static void put_plain(struct inv_buf *out, const struct inv_mfa *m)
{
	size_t n = m->module.len + m->function.len + 4;
	uint8_t *w = inv_buf_reserve(out, n);

	if (!w)
		return;
	*w++ = '{';
	memcpy(w, m->module.bytes, m->module.len);
	w += m->module.len;
	*w++ = ',';
	memcpy(w, m->function.bytes, m->function.len);
	w += m->function.len;
	*w++ = ',';
	*w = '[';
	inv_buf_commit(out, n);
}

/* Writes {M,F,[Args]} if the atoms are plain and the arguments are simple
 * terms. In this case nothing in the text needs an escape. */
static bool simple_mfa(struct inv_json_sink *j, const struct inv_item *it)
{
	const struct inv_mfa *m = it->facts->mfa;
	struct inv_buf *out = j->w.out;
	size_t before = out->len;
	uint32_t n;

	if (!m->module.plain || !m->function.plain)
		return false;
	inv_mfa_third(m, j->sink.cursor, &it->ev);
	inv_json_begin(&j->w, NULL);
	put_plain(out, m);
	j->args[0] = out->len;
	if (!inv_simple_print_elements(j->sink.cursor, out, &j->sink.print,
				       j->args + 1, INV_JSON_ARGS, &n)) {
		out->len = before;
		return false;
	}
	inv_buf_put(out, "]}", 2);
	inv_json_end_plain(&j->w);
	if (n > INV_JSON_ARGS)
		return true;
	for (uint32_t i = 1; i <= n; i++)
		j->args[i]++; /* skip the comma or bracket */
	j->n_args = n;
	return true;
}

int inv_json_mfa(struct inv_json_sink *j, const struct inv_item *it)
{
	const struct inv_mfa *m = it->facts->mfa;
	struct inv_buf *out = j->w.out;
	size_t begin, len;
	int rc;

	if (simple_mfa(j, it))
		return 0;
	begin = inv_json_begin(&j->w, NULL);
	inv_buf_putc(out, '{');
	put_atom(j, &m->module);
	inv_buf_putc(out, ',');
	put_atom(j, &m->function);
	inv_buf_putc(out, ',');
	rc = mfa_args(j, it);
	inv_buf_putc(out, '}');
	len = out->len;
	inv_json_end(&j->w, begin);
	/* If escapes were inserted into the text, the offsets in j->args are
	 * wrong. */
	if (out->len != len + 1)
		j->n_args = 0;
	return rc;
}

/* Copies the arguments from the payload. */
static void copied_args(struct inv_json_sink *j)
{
	size_t all = j->args[j->n_args] - j->args[0];
	struct inv_buf *out = j->w.out;
	uint8_t *w;

	inv_json_open(&j->w, "args", '[');
	/* In the payload a comma or bracket follows each argument. args[i + 1]
	 * is the place after this character. */
	w = inv_buf_reserve(out, all + (size_t)2 * j->n_args);
	for (unsigned i = 0; w && i < j->n_args; i++) {
		size_t len = j->args[i + 1] - 1 - j->args[i];

		if (i)
			*w++ = ',';
		*w++ = '"';
		memcpy(w, out->data + j->args[i], len);
		w += len;
		*w++ = '"';
	}
	if (w)
		out->len = (size_t)(w - out->data);
	inv_json_close(&j->w, ']');
}

/* Writes the arguments if they are simple terms. */
static bool simple_args(struct inv_json_sink *j)
{
	size_t ends[INV_JSON_ARGS], from = 0;
	uint32_t n;

	inv_buf_reset(&j->spare);
	if (!inv_simple_print_elements(j->sink.cursor, &j->spare,
				       &j->sink.print, ends, INV_JSON_ARGS,
				       &n) ||
	    n > INV_JSON_ARGS)
		return false;
	inv_json_open(&j->w, "args", '[');
	for (uint32_t i = 0; i < n; i++) {
		inv_json_bytes(&j->w, NULL, j->spare.data + from,
			       ends[i] - from);
		from = ends[i] + 1; /* after the comma */
	}
	inv_json_close(&j->w, ']');
	return true;
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
	if (j->n_args) {
		copied_args(j);
		return 0;
	}
	inv_mfa_third(m, c, ev);
	if (simple_args(j))
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

static void name(struct inv_json_sink *j, const char *key,
		 const struct inv_mfa_atom *a)
{
	if (a->plain)
		inv_json_word(&j->w, key, (const char *)a->bytes, a->len);
	else
		inv_json_bytes(&j->w, key, a->bytes, a->len);
}

static void function(struct inv_json_sink *j, const struct inv_mfa *m)
{
	name(j, "module", &m->module);
	name(j, "function", &m->function);
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

/* Writes the value that the match spec added to the call. */
static int result(struct inv_json_sink *j, const struct inv_call *call)
{
	int rc;

	inv_mfa_third(call->mfa, j->sink.cursor, call->event);
	rc = inv_json_must(inv_cursor_skip(j->sink.cursor));
	return rc ? rc : inv_json_term(j, "result", NULL);
}

int inv_json_call(struct inv_json_sink *j, const struct inv_item *it)
{
	const struct inv_call *call = it->facts->call;
	const struct inv_event *begun = call ? call->event : NULL;
	const struct inv_mfa *m = it->facts->mfa;
	const struct inv_event *ev = &it->ev;
	int rc = 0;

	if (begun) {
		m = call->mfa;
		ev = begun;
	}
	if (m) {
		function(j, m);
		rc = args(j, ev, m);
	}
	if (!rc && (call || it->ev.tag == INV_TAG_RETURN_FROM ||
		    it->ev.tag == INV_TAG_EXCEPTION_FROM))
		rc = end(j, it);
	/* The value from the match spec is a part of the call's beginning. If
	 * the beginning has an object of its own, the value is in that
	 * object. */
	if (!rc && begun && it->facts->whole && begun->ms_result)
		rc = result(j, call);
	if (!rc && call)
		times(j, call);
	return rc;
}
