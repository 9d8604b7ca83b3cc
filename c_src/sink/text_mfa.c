/* SPDX-License-Identifier: Apache-2.0 */
/* Prints {M,F,Args} as m:f(1,2), and {M,F,Arity} as m:f/2. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sink/text.h"
#include "term/print.h"

static int arguments(struct inv_line *t, uint32_t *arity)
{
	struct inv_cursor *c = t->sink.cursor;
	struct inv_buf *out = t->sink.out;
	struct inv_token tok;
	int rc;

	*arity = 0;
	inv_buf_putc(out, '(');
	for (;;) {
		rc = inv_line_must(inv_cursor_next(c, &tok));
		if (rc)
			return rc;
		if (tok.kind == INV_TOK_END)
			break;
		if (tok.sep == INV_SEP_BAR)
			inv_buf_putc(out, '|');
		else if (tok.sep == INV_SEP_COMMA)
			inv_buf_putc(out, ',');
		rc = inv_term_print_token(c, &tok, out, &t->sink.print);
		if (rc)
			return inv_line_must(rc);
		*arity += tok.kind == INV_TOK_CUT && tok.cut == INV_CUT_LIST ?
				  (uint32_t)tok.left :
				  1;
	}
	inv_buf_putc(out, ')');
	return 0;
}

/* Prints arguments that are all small integers. Such a list is encoded as a
 * string. */
static void small_arguments(struct inv_line *t, const struct inv_token *tok)
{
	struct inv_buf *out = t->sink.out;

	inv_buf_putc(out, '(');
	for (size_t i = 0; i < tok->len; i++) {
		if (i)
			inv_buf_putc(out, ',');
		inv_buf_u64(out, tok->bytes[i]);
	}
	if (tok->cut) {
		inv_buf_puts(out, tok->len ? ",...(" : "...(");
		inv_buf_u64(out, tok->left);
		inv_buf_puts(out, " more)");
	}
	inv_buf_putc(out, ')');
}

/* Prints the third element of an {M,F,A}. Sets *is_mfa to false if the term can
 * be neither arity nor arguments. */
static int arity_or_arguments(struct inv_line *t, uint64_t *arity, bool *is_mfa)
{
	struct inv_token tok;
	int64_t i;
	uint32_t n = 0;
	int rc = inv_line_must(inv_cursor_next(t->sink.cursor, &tok));

	if (rc)
		return rc;
	if (inv_token_i64(&tok, &i)) {
		inv_line_put(t, "/");
		inv_buf_i64(t->sink.out, i);
		*arity = (uint64_t)i;
	} else if (tok.kind == INV_TOK_NIL) {
		inv_line_put(t, "()");
		*arity = 0;
	} else if (tok.kind == INV_TOK_STRING) {
		small_arguments(t, &tok);
		*arity = tok.len + (tok.cut ? tok.left : 0);
	} else if (tok.kind == INV_TOK_LIST) {
		rc = arguments(t, &n);
		*arity = n;
	} else {
		*is_mfa = false;
	}
	return rc;
}

static uint64_t hash_atom(uint64_t seed, const struct inv_token *tok)
{
	return XXH3_64bits_withSeed(tok->bytes, tok->len, seed);
}

/* Tries to print the next term as {M,F,A}. Sets *is_mfa to true if it is one;
 * otherwise the cursor is somewhere inside the term. */
static int try_mfa(struct inv_line *t, bool *is_mfa)
{
	struct inv_cursor *c = t->sink.cursor;
	struct inv_buf *out = t->sink.out;
	struct inv_token tok;
	uint64_t hash = 0;
	uint64_t arity = 0;
	int rc = inv_line_must(inv_cursor_next(c, &tok));

	*is_mfa = !rc && tok.kind == INV_TOK_TUPLE && tok.count == 3;
	t->mf_off = out->len;
	for (int i = 0; *is_mfa && i < 2; i++) {
		rc = inv_line_must(inv_cursor_next(c, &tok));
		*is_mfa = !rc && tok.kind == INV_TOK_ATOM;
		if (!*is_mfa)
			break;
		if (i)
			inv_buf_putc(out, ':');
		inv_line_atom(t, &tok);
		hash = hash_atom(hash, &tok);
	}
	if (rc || !*is_mfa)
		return rc;
	t->mf_len = out->len - t->mf_off;
	rc = arity_or_arguments(t, &arity, is_mfa);
	if (!rc && *is_mfa)
		rc = inv_cursor_end(c);
	t->mfa = hash * 31 + arity;
	t->arity = arity;
	return rc;
}

int inv_line_mfa(struct inv_line *t, const struct inv_event *ev)
{
	struct inv_cursor *c = t->sink.cursor;
	size_t off = (size_t)(c->p - ev->terms);
	size_t len = t->sink.out->len;
	bool is_mfa = false;
	int rc = try_mfa(t, &is_mfa);

	if (rc || is_mfa)
		return rc;
	t->mfa = 0;
	t->sink.out->len = len;
	inv_cursor_init(c, (enum inv_enc)ev->enc, ev->dict, ev->terms + off,
			ev->len - off);
	return inv_line_term(t);
}
