/* SPDX-License-Identifier: Apache-2.0 */
/* Prints {M,F,Args} as m:f(1,2), and {M,F,Arity} as m:f/2. */
#include "sink/text.h"
#include "term/print.h"
#include "term/simple.h"

static int arguments(struct inv_line *t)
{
	bool elixir = t->sink.print.syntax == INV_SYNTAX_ELIXIR;
	struct inv_cursor *c = t->sink.cursor;
	struct inv_buf *out = t->sink.out;
	struct inv_token tok;
	int rc;

	inv_buf_putc(out, '(');
	for (;;) {
		rc = inv_line_must(inv_cursor_next(c, &tok));
		if (rc)
			return rc;
		if (tok.kind == INV_TOK_END)
			break;
		if (tok.sep == INV_SEP_BAR)
			inv_buf_puts(out, elixir ? " | " : "|");
		else if (tok.sep == INV_SEP_COMMA)
			inv_buf_puts(out, elixir ? ", " : ",");
		rc = inv_term_print_token(c, &tok, out, &t->sink.print);
		if (rc)
			return inv_line_must(rc);
	}
	inv_buf_putc(out, ')');
	return 0;
}

/* Prints arguments that are all small integers. Such a list is encoded as a
 * string. */
static void small_arguments(struct inv_line *t, const struct inv_token *tok)
{
	const char *comma = t->sink.print.syntax == INV_SYNTAX_ELIXIR ? ", " :
									",";
	struct inv_buf *out = t->sink.out;

	inv_buf_putc(out, '(');
	for (size_t i = 0; i < tok->len; i++) {
		if (i)
			inv_buf_puts(out, comma);
		inv_buf_u64(out, tok->bytes[i]);
	}
	if (tok->cut) {
		if (tok->len)
			inv_buf_puts(out, comma);
		inv_buf_puts(out, "...(");
		inv_buf_u64(out, tok->left);
		inv_buf_puts(out, " more)");
	}
	inv_buf_putc(out, ')');
}

/* Prints the third element of {M,F,Arity} or {M,F,Args}. */
static int arity_or_arguments(struct inv_line *t)
{
	struct inv_buf *out = t->sink.out;
	size_t before = out->len;
	struct inv_token tok;
	uint32_t n;
	int64_t i;
	int rc;

	inv_buf_putc(out, '(');
	if (inv_simple_print_elements(t->sink.cursor, out, &t->sink.print, NULL,
				      0, &n)) {
		inv_buf_putc(out, ')');
		return 0;
	}
	out->len = before;
	rc = inv_line_must(inv_cursor_next(t->sink.cursor, &tok));
	if (rc)
		return rc;
	if (inv_token_i64(&tok, &i)) {
		inv_line_put(t, "/");
		inv_buf_i64(t->sink.out, i);
	} else if (tok.kind == INV_TOK_NIL) {
		inv_line_put(t, "()");
	} else if (tok.kind == INV_TOK_STRING) {
		small_arguments(t, &tok);
	} else {
		rc = arguments(t);
	}
	return rc;
}

static void put_atom(struct inv_line *t, const struct inv_mfa_atom *a)
{
	if (a->plain)
		inv_buf_put(t->sink.out, a->bytes, a->len);
	else
		inv_term_print_atom(a->bytes, a->len, t->sink.out,
				    &t->sink.print);
}

static void put_names(struct inv_line *t, const struct inv_mfa *m)
{
	struct inv_buf *out = t->sink.out;

	if (t->sink.print.syntax == INV_SYNTAX_ELIXIR) {
		inv_term_print_module(m->module.bytes, m->module.len, out,
				      &t->sink.print);
		inv_term_print_function(m->function.bytes, m->function.len, out,
					&t->sink.print);
		return;
	}
	put_atom(t, &m->module);
	inv_buf_putc(out, ':');
	put_atom(t, &m->function);
}

int inv_line_mfa(struct inv_line *t, const struct inv_event *ev,
		 const struct inv_mfa *m)
{
	if (!m)
		return inv_line_term(t);
	put_names(t, m);
	inv_mfa_third(m, t->sink.cursor, ev);
	return arity_or_arguments(t);
}
