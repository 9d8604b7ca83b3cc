/* SPDX-License-Identifier: Apache-2.0 */
#include "term/tree_print.h"

#include <string.h>

#include "term/chars.h"

struct printer {
	struct inv_buf *out;
	const struct inv_print_opts *o;
	struct inv_buf bytes; /* of strings and of bits that are not aligned */
};

static int print(struct printer *p, inv_word t, unsigned depth);

/* Tokens without elements take nothing from a cursor. */
static int token(struct printer *p, const struct inv_token *tok)
{
	struct inv_cursor c;

	inv_cursor_init(&c, INV_ENC_ETF, NULL, NULL, 0);
	return inv_term_print_token(&c, tok, p->out, p->o);
}

/* --- terms without elements ----------------------------------------------- */

static int print_bits(struct printer *p, const inv_word *b)
{
	const uint8_t *from = inv_box_ptr(b, 1);
	uint64_t n = inv_box_n(b), i;
	struct inv_token tok = { .kind = INV_TOK_BINARY,
				 .last_bits = n % 8 ? n % 8 : 8,
				 .len = (n + 7) / 8 };
	unsigned shift = (unsigned)b[2];

	inv_buf_reset(&p->bytes);
	for (i = 0; i < n; i += 8) {
		unsigned v = (unsigned)from[i / 8] << shift;

		if (shift + (n - i < 8 ? n - i : 8) > 8)
			v |= (unsigned)from[i / 8 + 1] >> (8 - shift);
		inv_buf_putc(&p->bytes, (char)v);
	}
	if (p->bytes.error)
		return p->bytes.error;
	tok.bytes = p->bytes.data;
	return token(p, &tok);
}

static int print_ids(struct printer *p, unsigned kind, const inv_word *b)
{
	struct inv_token tok = { .kind = (uint8_t)kind,
				 .node = b[1],
				 .n_ids = (uint8_t)inv_box_n(b) };

	memcpy(tok.id, b + 5, inv_box_n(b) * sizeof(*b));
	return token(p, &tok);
}

static int print_big(struct printer *p, const inv_word *b)
{
	struct inv_token tok = { .kind = INV_TOK_BIG,
				 .negative = inv_box_has(b, INV_BOX_NEGATIVE),
				 .bytes = (const uint8_t *)(b + 1),
				 .len = 8 * inv_box_n(b) };

	return token(p, &tok);
}

static int print_fun(struct printer *p, const inv_word *b)
{
	bool exported = inv_box_kind(b) == INV_BOX_EXPORT;
	const inv_word *m = inv_box(b[1]), *f = exported ? inv_box(b[2]) : m;
	struct inv_token tok = { .kind = exported ? INV_TOK_EXPORT :
						    INV_TOK_FUN,
				 .count = (uint32_t)inv_box_n(b),
				 .bytes = inv_box_ptr(m, 1),
				 .len = inv_box_n(m),
				 .bytes2 = inv_box_ptr(f, 1),
				 .len2 = inv_box_n(f) };

	if (!exported) {
		tok.id[0] = b[2];
		tok.id[1] = b[3];
	}
	return token(p, &tok);
}

static int print_bytes(struct printer *p, unsigned kind, const inv_word *b)
{
	struct inv_token tok = { .kind = (uint8_t)kind,
				 .bytes = inv_box_ptr(b, 1),
				 .len = inv_box_n(b) };

	return token(p, &tok);
}

/* --- terms with elements -------------------------------------------------- */

static int print_words(struct printer *p, const inv_word *w, size_t n,
		       const char *second, unsigned depth)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		if (i > 0)
			inv_buf_puts(p->out, i % 2 ? second : ",");
		rc = print(p, w[i], depth);
	}
	inv_buf_putc(p->out, '}');
	return rc;
}

/* Whether ~p shows it as a string; its bytes are then in p->bytes. */
static bool is_string(struct printer *p, inv_word t)
{
	inv_buf_reset(&p->bytes);
	for (; inv_is_cons(t); t = inv_cons(t)[1]) {
		inv_word c = inv_cons(t)[0];

		if (!inv_is_small(c) || inv_small(c) < 0 ||
		    inv_small(c) > 255 ||
		    !inv_char_printable((uint32_t)inv_small(c), false))
			return false;
		inv_buf_putc(&p->bytes, (char)inv_small(c));
	}
	return t == INV_NIL && !p->bytes.error;
}

static int print_list(struct printer *p, inv_word t, unsigned depth)
{
	struct inv_token tok = { .kind = INV_TOK_STRING };
	int rc = 0;

	if (p->o->style == INV_PRINT_P && is_string(p, t)) {
		tok.bytes = p->bytes.data;
		tok.len = p->bytes.len;
		return token(p, &tok);
	}
	inv_buf_putc(p->out, '[');
	for (;;) {
		rc = print(p, inv_cons(t)[0], depth);
		t = inv_cons(t)[1];
		if (rc || !inv_is_cons(t))
			break;
		inv_buf_putc(p->out, ',');
	}
	if (!rc && t != INV_NIL) {
		inv_buf_putc(p->out, '|');
		rc = print(p, t, depth);
	}
	inv_buf_putc(p->out, ']');
	return rc;
}

static int print_box(struct printer *p, const inv_word *b, unsigned depth)
{
	struct inv_token tok = { 0 };

	switch (inv_box_kind(b)) {
	case INV_BOX_ATOM:
		return print_bytes(p, INV_TOK_ATOM, b);
	case INV_BOX_INT:
		inv_buf_i64(p->out, (int64_t)b[1]);
		return 0;
	case INV_BOX_BIG:
		return print_big(p, b);
	case INV_BOX_FLOAT:
		tok.kind = INV_TOK_FLOAT;
		memcpy(&tok.f, b + 1, sizeof(tok.f));
		return token(p, &tok);
	case INV_BOX_TUPLE:
		inv_buf_putc(p->out, '{');
		return print_words(p, b + 1, inv_box_n(b), ",", depth);
	case INV_BOX_MAP:
		inv_buf_puts(p->out, "#{");
		return print_words(p, b + 1, 2 * inv_box_n(b), " => ", depth);
	case INV_BOX_BITS:
		return print_bits(p, b);
	case INV_BOX_PID:
		return print_ids(p, INV_TOK_PID, b);
	case INV_BOX_PORT:
		return print_ids(p, INV_TOK_PORT, b);
	case INV_BOX_REF:
		return print_ids(p, INV_TOK_REF, b);
	case INV_BOX_TEXT:
		return print_bytes(p, INV_TOK_TEXT, b);
	case INV_BOX_HOLE:
		inv_buf_puts(p->out, "...");
		return 0;
	default:
		return print_fun(p, b);
	}
}

static int print(struct printer *p, inv_word t, unsigned depth)
{
	if (depth == 0)
		return INV_EDEPTH;
	if (inv_is_box(t))
		return print_box(p, inv_box(t), depth - 1);
	if (inv_is_cons(t))
		return print_list(p, t, depth - 1);
	if (inv_is_small(t))
		inv_buf_i64(p->out, inv_small(t));
	else
		inv_buf_puts(p->out, "[]");
	return 0;
}

int inv_tree_print(inv_word t, struct inv_buf *out,
		   const struct inv_print_opts *o)
{
	struct printer p = { .out = out, .o = o };
	int rc = print(&p, t, INV_TREE_DEPTH);

	inv_buf_release(&p.bytes);
	return rc ? rc : out->error;
}
