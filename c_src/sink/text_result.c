/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the value that a match spec added to a call. The form of the value
 * shows which action made it:
 *
 *	{caller}		{M,F,Arity} | undefined
 *	{current_stacktrace}	[{M,F,Arity,[{file,File},{line,Line}]}]
 *	both			{Caller,Stack}
 */
#include "sink/text.h"
#include "term/print.h"

/* The functions below return OTHER if the value has another form. */
#define OTHER 1

static int next(struct inv_line *t, struct inv_token *tok)
{
	return inv_line_must(inv_cursor_next(t->sink.cursor, tok));
}

/* Prints {M,F,Arity} as M:F/A. The cursor is before M. */
static int function(struct inv_line *t)
{
	struct inv_token tok;
	int64_t arity;
	int rc;

	for (int i = 0; i < 2; i++) {
		rc = next(t, &tok);
		if (rc || tok.kind != INV_TOK_ATOM)
			return rc ? rc : OTHER;
		if (i)
			inv_term_print_function(tok.bytes, tok.len, t->sink.out,
						&t->sink.print);
		else
			inv_term_print_module(tok.bytes, tok.len, t->sink.out,
					      &t->sink.print);
	}
	rc = next(t, &tok);
	if (rc || !inv_token_i64(&tok, &arity) || arity < 0 || arity > 255)
		return rc ? rc : OTHER;
	inv_line_put(t, "/");
	inv_buf_i64(t->sink.out, arity);
	return 0;
}

int inv_line_function(struct inv_line *t, const struct inv_token *tok)
{
	int rc;

	if (tok->kind != INV_TOK_TUPLE || tok->count != 3)
		return OTHER;
	rc = function(t);
	return rc ? rc : inv_cursor_end(t->sink.cursor);
}

/* Prints the name of a file, whose bytes are Latin-1. Control characters become
 * "?". */
static void file_name(struct inv_line *t, const struct inv_token *tok)
{
	struct inv_buf *out = t->sink.out;

	for (size_t i = 0; i < tok->len; i++) {
		uint8_t c = tok->bytes[i];

		if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
			inv_buf_putc(out, '?');
		} else if (c < 0x80) {
			inv_buf_putc(out, (char)c);
		} else {
			inv_buf_putc(out, (char)(0xc0 | c >> 6));
			inv_buf_putc(out, (char)(0x80 | (c & 0x3f)));
		}
	}
	if (tok->cut)
		inv_line_put(t, "...");
}

/* Prints [{file,File},{line,Line}]; either may be missing. */
static int location(struct inv_line *t)
{
	struct inv_cursor *c = t->sink.cursor;
	uint32_t depth = inv_cursor_depth(c);
	bool file = false, line = false, open = false;
	struct inv_token tok;
	int64_t n;
	int rc;

	do {
		rc = next(t, &tok);
		if (rc)
			return rc;
		if (file && tok.kind == INV_TOK_STRING) {
			inv_line_put(t, " (");
			file_name(t, &tok);
			open = true;
		} else if (open && line && inv_token_i64(&tok, &n)) {
			inv_line_put(t, ":");
			inv_buf_i64(t->sink.out, n);
		}
		file = inv_token_is(&tok, "file");
		line = inv_token_is(&tok, "line");
	} while (inv_cursor_depth(c) > depth);
	if (open)
		inv_line_put(t, ")");
	return 0;
}

/* Prints an entry of a stack trace; tok is its first token. */
static int frame(struct inv_line *t, const struct inv_token *tok)
{
	int rc;

	inv_line_put(t, "\n        ");
	inv_line_color(t, INV_LINE_DIM);
	if (tok->kind == INV_TOK_TUPLE && tok->count == 4) {
		rc = function(t);
		if (!rc)
			rc = location(t);
		if (!rc)
			rc = inv_cursor_end(t->sink.cursor);
	} else if (tok->kind == INV_TOK_CUT || tok->kind == INV_TOK_HOLE) {
		rc = inv_term_print_token(t->sink.cursor, tok, t->sink.out,
					  &t->sink.print);
	} else {
		rc = OTHER;
	}
	inv_line_color(t, INV_LINE_PLAIN);
	return rc;
}

/* Prints a non-empty stack trace; `list' is its first token. */
static int stack(struct inv_line *t, const struct inv_token *list)
{
	struct inv_token tok;
	int rc;

	if (list->kind == INV_TOK_NIL)
		return 0;
	if (list->kind != INV_TOK_LIST)
		return OTHER;
	for (;;) {
		rc = next(t, &tok);
		if (rc || tok.kind == INV_TOK_END)
			return rc;
		if (tok.sep == INV_SEP_BAR)
			return OTHER;
		rc = frame(t, &tok);
		if (rc)
			return rc;
	}
}

/* Prints {M,F,Arity} or undefined; tok is its first token. */
static int caller(struct inv_line *t, const struct inv_token *tok)
{
	int rc;

	if (inv_token_is(tok, "undefined"))
		return 0;
	inv_line_color(t, INV_LINE_DIM);
	inv_line_put(t, " (from ");
	rc = inv_line_function(t, tok);
	inv_line_put(t, ")");
	inv_line_color(t, INV_LINE_PLAIN);
	return rc;
}

static int known_form(struct inv_line *t)
{
	struct inv_token tok;
	int rc = next(t, &tok);

	if (rc)
		return rc;
	if (tok.kind == INV_TOK_LIST)
		return stack(t, &tok);
	if (tok.kind != INV_TOK_TUPLE)
		return OTHER;
	if (tok.count == 3)
		return caller(t, &tok);
	if (tok.count != 2)
		return OTHER;
	rc = next(t, &tok);
	if (!rc)
		rc = caller(t, &tok);
	if (!rc)
		rc = next(t, &tok);
	if (!rc)
		rc = stack(t, &tok);
	return rc ? rc : inv_cursor_end(t->sink.cursor);
}

int inv_line_result(struct inv_line *t, const struct inv_event *ev)
{
	struct inv_cursor *c = t->sink.cursor;
	size_t off = (size_t)(c->p - ev->terms);
	size_t len = t->sink.out->len;
	int rc = known_form(t);

	if (!rc)
		return 0;
	/* The value has another form, and is printed like any term. If it is
	 * invalid, inv_line_term fails, too. */
	t->sink.out->len = len;
	inv_cursor_init(c, (enum inv_enc)ev->enc, ev->dict, ev->terms + off,
			ev->len - off);
	inv_line_put(t, " (");
	rc = inv_line_term(t);
	inv_line_put(t, ")");
	return rc;
}
