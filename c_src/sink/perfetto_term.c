/* SPDX-License-Identifier: Apache-2.0 */
/* Terms as annotations of the open event. */
#include "sink/perfetto_int.h"

#include "term/simple.h"

/* If a call has at most this many arguments, they are separate annotations. */
#define ARGS 16u

static size_t open_annotation(struct inv_buf *out, enum inv_pf_key key)
{
	size_t at = inv_proto_open(out, PF_EVENT_ANNOTATION);

	inv_proto_u64(out, PF_ANNOTATION_KEY, key);
	return at;
}

void inv__pf_text(struct inv_perfetto *f, enum inv_pf_key key, const void *p,
		  size_t n)
{
	size_t at = open_annotation(f->sink.out, key);

	inv_proto_bytes(f->sink.out, PF_ANNOTATION_TEXT, p, n);
	inv_proto_close(f->sink.out, at);
}

void inv__pf_uint(struct inv_perfetto *f, enum inv_pf_key key, uint64_t v)
{
	size_t at = open_annotation(f->sink.out, key);

	inv_proto_u64(f->sink.out, PF_ANNOTATION_UINT, v);
	inv_proto_close(f->sink.out, at);
}

void inv__pf_bool(struct inv_perfetto *f, enum inv_pf_key key, bool v)
{
	size_t at = open_annotation(f->sink.out, key);

	inv_proto_u64(f->sink.out, PF_ANNOTATION_BOOL, v);
	inv_proto_close(f->sink.out, at);
}

/* Inside an event, the end of the bytes is an error. */
static int must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

int inv__pf_token(struct inv_perfetto *f, enum inv_pf_key key,
		  const struct inv_token *tok)
{
	struct inv_buf *out = f->sink.out;
	size_t at = open_annotation(out, key), text;
	int rc;

	text = inv_proto_open(out, PF_ANNOTATION_TEXT);
	if (tok)
		rc = inv_term_print_token(f->sink.cursor, tok, out,
					  &f->sink.print);
	else
		rc = inv_term_print(f->sink.cursor, out, &f->sink.print);
	inv_proto_close(out, text);
	inv_proto_close(out, at);
	return must(rc);
}

int inv__pf_term(struct inv_perfetto *f, enum inv_pf_key key)
{
	return inv__pf_token(f, key, NULL);
}

/* --- arguments ------------------------------------------------------------ */

/* Writes an element of the array, which is an annotation without a key. */
static void element(struct inv_buf *out, const void *p, size_t n)
{
	size_t at = inv_proto_open(out, PF_ANNOTATION_ARRAY);

	inv_proto_bytes(out, PF_ANNOTATION_TEXT, p, n);
	inv_proto_close(out, at);
}

static bool simple_args(struct inv_perfetto *f)
{
	struct inv_buf *out = f->sink.out;
	size_t ends[ARGS], from = 0;
	uint32_t n;

	inv_buf_reset(&f->text);
	if (!inv_simple_print_elements(f->sink.cursor, &f->text, &f->sink.print,
				       ends, ARGS, &n) ||
	    n > ARGS)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		element(out, f->text.data + from, ends[i] - from);
		from = ends[i] + 1; /* after the comma */
	}
	return true;
}

/* Writes arguments that are all integers from 0 to 255; they are encoded as a
 * string. */
static void small_args(struct inv_perfetto *f, const struct inv_token *tok)
{
	struct inv_buf *out = f->sink.out;
	uint8_t text[INV_DECIMAL_MAX];

	for (size_t i = 0; i < tok->len; i++)
		element(out, text,
			(size_t)(inv_decimal_u64(text, tok->bytes[i]) - text));
	if (!tok->cut)
		return;
	inv_buf_reset(&f->text);
	inv_buf_puts(&f->text, "...(");
	inv_buf_u64(&f->text, tok->left);
	inv_buf_puts(&f->text, " more)");
	element(out, f->text.data, f->text.len);
}

static int list_args(struct inv_perfetto *f)
{
	struct inv_buf *out = f->sink.out;
	struct inv_token tok;
	size_t at, text;
	int rc;

	for (;;) {
		rc = must(inv_cursor_next(f->sink.cursor, &tok));
		if (rc || tok.kind == INV_TOK_END)
			return rc;
		tok.sep = INV_SEP_NONE;
		at = inv_proto_open(out, PF_ANNOTATION_ARRAY);
		text = inv_proto_open(out, PF_ANNOTATION_TEXT);
		rc = must(inv_term_print_token(f->sink.cursor, &tok, out,
					       &f->sink.print));
		inv_proto_close(out, text);
		inv_proto_close(out, at);
		if (rc)
			return rc;
	}
}

int inv__pf_args(struct inv_perfetto *f, const struct inv_event *ev,
		 const struct inv_mfa *m)
{
	struct inv_buf *out = f->sink.out;
	struct inv_token tok;
	size_t at;
	int rc;

	if (!m->has_args || !m->arity)
		return 0;
	at = open_annotation(out, INV_PF_KEY_ARGS);
	inv_mfa_third(m, f->sink.cursor, ev);
	if (!simple_args(f)) {
		inv_mfa_third(m, f->sink.cursor, ev);
		rc = must(inv_cursor_next(f->sink.cursor, &tok));
		if (!rc && tok.kind == INV_TOK_STRING)
			small_args(f, &tok);
		else if (!rc && tok.kind == INV_TOK_LIST)
			rc = list_args(f);
		if (rc)
			return rc;
	}
	inv_proto_close(out, at);
	return 0;
}
