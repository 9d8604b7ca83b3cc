/* SPDX-License-Identifier: Apache-2.0 */
#include "term/tree_walk.h"

#include <string.h>

/* An open container. */
struct open {
	inv_word t; /* the container; for a list, its remaining cells */
	uint64_t i; /* index of the next element */
	unsigned kind;
};

/* The walker keeps its own stack of containers and does not recurse, because
 * the threads of a VM have small stacks. */
struct walker {
	int (*visit)(void *arg, const struct inv_token *tok);
	void *arg;
	struct inv_buf bytes; /* bytes of strings, and of bitstrings that are
				 not byte-aligned */
	size_t depth;
	struct open open[INV_TREE_DEPTH];
};

/* --- terms without elements ----------------------------------------------- */

static void take_bytes(struct inv_token *tok, unsigned kind, const void *p,
		       size_t len)
{
	tok->kind = (uint8_t)kind;
	tok->bytes = p;
	tok->len = len;
}

static int take_bits(struct walker *w, struct inv_token *tok, const inv_word *b)
{
	const uint8_t *from = inv_box_ptr(b, 1);
	uint64_t n = inv_box_n(b);
	unsigned shift = (unsigned)b[2];

	inv_buf_reset(&w->bytes);
	for (uint64_t i = 0; i < n; i += 8) {
		uint64_t left = n - i < 8 ? n - i : 8;
		unsigned v = (unsigned)from[i / 8] << shift;

		if (shift + left > 8)
			v |= (unsigned)from[i / 8 + 1] >> (8 - shift);
		inv_buf_putc(&w->bytes, (char)(v & (0xff00u >> left)));
	}
	take_bytes(tok, INV_TOK_BINARY, w->bytes.data, w->bytes.len);
	tok->last_bits = n % 8 ? n % 8 : 8;
	return w->bytes.error;
}

static void take_big(struct inv_token *tok, const inv_word *b)
{
	take_bytes(tok, INV_TOK_BIG, b + 1, 8 * inv_box_n(b));
	while (tok->len > 1 && !tok->bytes[tok->len - 1])
		tok->len--;
	tok->negative = inv_box_has(b, INV_BOX_NEGATIVE);
}

static void take_ids(struct inv_token *tok, unsigned kind, const inv_word *b)
{
	take_bytes(tok, kind, inv_box_ptr(b, 2), b[3]);
	tok->node = b[1];
	tok->creation = (uint32_t)b[4];
	tok->n_ids = (uint8_t)inv_box_n(b);
	memcpy(tok->id, b + 5, inv_box_n(b) * sizeof(*b));
}

static void take_fun(struct inv_token *tok, const inv_word *b)
{
	const inv_word *m = inv_box(b[1]);

	take_bytes(tok, INV_TOK_FUN, inv_box_ptr(m, 1), inv_box_n(m));
	tok->id[0] = b[2];
	tok->id[1] = b[3];
	tok->bytes2 = inv_box_ptr(b, 4);
	tok->len2 = b[5];
}

static void take_export(struct inv_token *tok, const inv_word *b)
{
	const inv_word *m = inv_box(b[1]), *f = inv_box(b[2]);

	take_bytes(tok, INV_TOK_EXPORT, inv_box_ptr(m, 1), inv_box_n(m));
	tok->bytes2 = inv_box_ptr(f, 1);
	tok->len2 = inv_box_n(f);
	tok->count = (uint32_t)inv_box_n(b);
}

static int take_box(struct walker *w, struct inv_token *tok, const inv_word *b)
{
	switch (inv_box_kind(b)) {
	case INV_BOX_ATOM:
		take_bytes(tok, INV_TOK_ATOM, inv_box_ptr(b, 1), inv_box_n(b));
		break;
	case INV_BOX_INT:
		tok->kind = INV_TOK_INT;
		tok->i = (int64_t)b[1];
		break;
	case INV_BOX_BIG:
		take_big(tok, b);
		break;
	case INV_BOX_FLOAT:
		tok->kind = INV_TOK_FLOAT;
		memcpy(&tok->f, b + 1, sizeof(tok->f));
		break;
	case INV_BOX_BITS:
		return take_bits(w, tok, b);
	case INV_BOX_PID:
		take_ids(tok, INV_TOK_PID, b);
		break;
	case INV_BOX_PORT:
		take_ids(tok, INV_TOK_PORT, b);
		break;
	case INV_BOX_REF:
		take_ids(tok, INV_TOK_REF, b);
		break;
	case INV_BOX_EXPORT:
		take_export(tok, b);
		break;
	case INV_BOX_FUN:
		take_fun(tok, b);
		break;
	case INV_BOX_TEXT:
		take_bytes(tok, INV_TOK_TEXT, inv_box_ptr(b, 1), inv_box_n(b));
		break;
	default:
		tok->kind = INV_TOK_HOLE;
		tok->cut = INV_CUT_OTHER;
		break;
	}
	return 0;
}

/* --- terms with elements -------------------------------------------------- */

static int give(struct walker *w, struct inv_token *tok, unsigned sep)
{
	tok->sep = (uint8_t)sep;
	return w->visit(w->arg, tok);
}

static int give_end(struct walker *w, unsigned of)
{
	struct inv_token tok = { .kind = INV_TOK_END, .of = (uint8_t)of };

	return give(w, &tok, INV_SEP_NONE);
}

static unsigned sep_of(unsigned kind, uint64_t i)
{
	if (!i)
		return INV_SEP_NONE;
	return kind == INV_TOK_MAP && i % 2 ? INV_SEP_ARROW : INV_SEP_COMMA;
}

static uint64_t count_words(const inv_word *b, unsigned kind)
{
	return kind == INV_TOK_MAP ? 2 * inv_box_n(b) : inv_box_n(b);
}

static void open_term(struct walker *w, inv_word t, unsigned kind)
{
	w->open[w->depth++] = (struct open){ .t = t, .kind = kind };
}

static int close_term(struct walker *w)
{
	return give_end(w, w->open[--w->depth].kind);
}

static int start_words(struct walker *w, inv_word t, unsigned kind,
		       unsigned sep)
{
	const inv_word *b = inv_box(t);
	struct inv_token tok = { .kind = (uint8_t)kind,
				 .count = (uint32_t)inv_box_n(b) };

	if (kind == INV_TOK_MAP && inv_box_has(b, INV_BOX_PARTIAL))
		tok.cut = INV_CUT_MAP;
	open_term(w, t, kind);
	return give(w, &tok, sep);
}

/* Returns true if t is a proper list of integers 0..255, and copies them to
 * w->bytes. */
static bool is_string(struct walker *w, inv_word t)
{
	inv_buf_reset(&w->bytes);
	for (; inv_is_cons(t); t = inv_cons(t)[1]) {
		inv_word c = inv_cons(t)[0];

		if (!inv_is_small(c) || inv_small(c) < 0 || inv_small(c) > 255)
			return false;
		inv_buf_putc(&w->bytes, (char)inv_small(c));
	}
	return t == INV_NIL;
}

static int start_list(struct walker *w, inv_word t, unsigned sep)
{
	struct inv_token tok = { .kind = INV_TOK_LIST };

	if (is_string(w, t)) {
		take_bytes(&tok, INV_TOK_STRING, w->bytes.data, w->bytes.len);
		return w->bytes.error ? w->bytes.error : give(w, &tok, sep);
	}
	open_term(w, t, INV_TOK_LIST);
	return give(w, &tok, sep);
}

static int start(struct walker *w, inv_word t, unsigned sep)
{
	struct inv_token tok = { .kind = INV_TOK_NIL };
	int rc = 0;

	if (w->depth == INV_TREE_DEPTH)
		return INV_EDEPTH;
	if (inv_is_cons(t))
		return start_list(w, t, sep);
	if (inv_box_of(t, INV_BOX_TUPLE))
		return start_words(w, t, INV_TOK_TUPLE, sep);
	if (inv_box_of(t, INV_BOX_MAP))
		return start_words(w, t, INV_TOK_MAP, sep);
	if (inv_is_box(t)) {
		rc = take_box(w, &tok, inv_box(t));
	} else if (inv_is_small(t)) {
		tok.kind = INV_TOK_INT;
		tok.i = inv_small(t);
	}
	return rc ? rc : give(w, &tok, sep);
}

/* Visits the next element of the innermost open container, or its END. */
static int step(struct walker *w)
{
	struct open *o = &w->open[w->depth - 1];
	inv_word t = o->t;
	uint64_t i = o->i++;

	if (o->kind != INV_TOK_LIST) {
		if (i == count_words(inv_box(t), o->kind))
			return close_term(w);
		return start(w, inv_box(t)[1 + i], sep_of(o->kind, i));
	}
	if (t == INV_NIL)
		return close_term(w);
	if (inv_is_cons(t)) {
		o->t = inv_cons(t)[1];
		return start(w, inv_cons(t)[0], sep_of(INV_TOK_LIST, i));
	}
	o->t = INV_NIL;
	return start(w, t, INV_SEP_BAR);
}

int inv_tree_walk(inv_word t,
		  int (*visit)(void *arg, const struct inv_token *tok),
		  void *arg)
{
	struct walker w;
	int rc;

	w.visit = visit;
	w.arg = arg;
	w.bytes = (struct inv_buf){ 0 };
	w.depth = 0;
	rc = start(&w, t, INV_SEP_NONE);
	while (!rc && w.depth)
		rc = step(&w);
	inv_buf_release(&w.bytes);
	return rc;
}
