/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "term/tree.h"

/* The tags that are written; term/cursor_etf.c reads them all. */
enum {
	BIT_BINARY = 77,
	NEW_PID = 88,
	NEWER_REFERENCE = 90,
	NEW_FLOAT = 70,
	SMALL_INTEGER = 97,
	INTEGER = 98,
	SMALL_TUPLE = 104,
	LARGE_TUPLE = 105,
	NIL = 106,
	LIST = 108,
	BINARY = 109,
	SMALL_BIG = 110,
	LARGE_BIG = 111,
	EXPORT = 113,
	MAP = 116,
	ATOM_UTF8 = 118,
	SMALL_ATOM_UTF8 = 119,
	V4_PORT = 120,
	VERSION = 131,
};

struct writer {
	struct inv_buf *out;
	const char *node;
	uint32_t creation;
};

static void put_u(struct inv_buf *b, uint64_t v, unsigned bytes)
{
	while (bytes-- > 0)
		inv_buf_putc(b, (char)(v >> 8 * bytes));
}

static void put_atom(struct inv_buf *b, const void *name, size_t len)
{
	bool small = len < 256;

	inv_buf_putc(b, small ? SMALL_ATOM_UTF8 : ATOM_UTF8);
	put_u(b, len, small ? 1 : 2);
	inv_buf_put(b, name, len);
}

static void put_magnitude(struct inv_buf *b, bool negative, const uint64_t *w,
			  size_t n)
{
	size_t len = 8 * n, i;

	while (len > 1 && (w[(len - 1) / 8] >> 8 * ((len - 1) % 8) & 0xff) == 0)
		len--;
	inv_buf_putc(b, len < 256 ? SMALL_BIG : LARGE_BIG);
	put_u(b, len, len < 256 ? 1 : 4);
	inv_buf_putc(b, negative ? 1 : 0);
	for (i = 0; i < len; i++)
		inv_buf_putc(b, (char)(w[i / 8] >> 8 * (i % 8)));
}

static void put_int(struct inv_buf *b, int64_t i)
{
	uint64_t u = i < 0 ? -(uint64_t)i : (uint64_t)i;

	if (i >= 0 && i < 256) {
		inv_buf_putc(b, SMALL_INTEGER);
		put_u(b, u, 1);
	} else if (i >= INT32_MIN && i <= INT32_MAX) {
		inv_buf_putc(b, INTEGER);
		put_u(b, (uint64_t)i, 4);
	} else {
		put_magnitude(b, i < 0, &u, 1);
	}
}

static void put_bits(struct inv_buf *b, const inv_word *x)
{
	uint64_t n = inv_box_n(x), i;
	const uint8_t *p = inv_box_ptr(x, 1);
	unsigned shift = (unsigned)x[2], rest = n % 8;

	inv_buf_putc(b, rest ? BIT_BINARY : BINARY);
	put_u(b, (n + 7) / 8, 4);
	if (rest)
		inv_buf_putc(b, (char)rest);
	for (i = 0; i < n; i += 8) {
		uint64_t left = n - i < 8 ? n - i : 8;
		unsigned v = (unsigned)p[i / 8] << shift;

		if (shift + left > 8)
			v |= (unsigned)p[i / 8 + 1] >> (8 - shift);
		inv_buf_putc(b, (char)(v & (0xff00u >> left)));
	}
}

static void put_node(const struct writer *w, const inv_word *x)
{
	if (x[3] > 0)
		put_atom(w->out, inv_box_ptr(x, 2), x[3]);
	else
		put_atom(w->out, w->node, strlen(w->node));
}

static uint32_t creation(const struct writer *w, const inv_word *x)
{
	return x[3] > 0 || x[4] > 0 ? (uint32_t)x[4] : w->creation;
}

static void put_ids(const struct writer *w, const inv_word *x)
{
	size_t n = inv_box_n(x), i;

	switch (inv_box_kind(x)) {
	case INV_BOX_PID:
		inv_buf_putc(w->out, NEW_PID);
		put_node(w, x);
		put_u(w->out, x[5], 4);
		put_u(w->out, x[6], 4);
		break;
	case INV_BOX_PORT:
		inv_buf_putc(w->out, V4_PORT);
		put_node(w, x);
		put_u(w->out, x[5], 8);
		break;
	default:
		inv_buf_putc(w->out, NEWER_REFERENCE);
		put_u(w->out, n, 2);
		put_node(w, x);
		put_u(w->out, creation(w, x), 4);
		for (i = n; i > 0; i--)
			put_u(w->out, x[4 + i], 4);
		return;
	}
	put_u(w->out, creation(w, x), 4);
}

static int put_word(const struct writer *w, inv_word t, unsigned depth);

static int put_words(const struct writer *w, const inv_word *x, size_t n,
		     unsigned depth)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++)
		rc = put_word(w, x[i], depth);
	return rc;
}

static int put_list(const struct writer *w, inv_word t, unsigned depth)
{
	uint64_t n = 0;
	size_t at;
	int rc = 0;

	inv_buf_putc(w->out, LIST);
	at = w->out->len;
	put_u(w->out, 0, 4);
	for (; !rc && inv_is_cons(t); t = inv_cons(t)[1], n++)
		rc = put_word(w, inv_cons(t)[0], depth);
	if (rc || w->out->error)
		return rc;
	for (unsigned i = 0; i < 4; i++)
		w->out->data[at + i] = (uint8_t)(n >> 8 * (3 - i));
	return put_word(w, t, depth);
}

static int put_box(const struct writer *w, const inv_word *x, unsigned depth)
{
	uint64_t n = inv_box_n(x);

	switch (inv_box_kind(x)) {
	case INV_BOX_ATOM:
		put_atom(w->out, inv_box_ptr(x, 1), n);
		return 0;
	case INV_BOX_INT:
		put_int(w->out, (int64_t)x[1]);
		return 0;
	case INV_BOX_BIG:
		put_magnitude(w->out, inv_box_has(x, INV_BOX_NEGATIVE), x + 1,
			      n);
		return 0;
	case INV_BOX_FLOAT:
		inv_buf_putc(w->out, NEW_FLOAT);
		put_u(w->out, x[1], 8);
		return 0;
	case INV_BOX_TUPLE:
		inv_buf_putc(w->out, n < 256 ? SMALL_TUPLE : LARGE_TUPLE);
		put_u(w->out, n, n < 256 ? 1 : 4);
		return put_words(w, x + 1, n, depth);
	case INV_BOX_MAP:
		if (inv_box_has(x, INV_BOX_PARTIAL))
			return INV_EUNKNOWN;
		inv_buf_putc(w->out, MAP);
		put_u(w->out, n, 4);
		return put_words(w, x + 1, 2 * n, depth);
	case INV_BOX_BITS:
		put_bits(w->out, x);
		return 0;
	case INV_BOX_PID:
	case INV_BOX_PORT:
	case INV_BOX_REF:
		put_ids(w, x);
		return 0;
	case INV_BOX_EXPORT:
		inv_buf_putc(w->out, EXPORT);
		put_words(w, x + 1, 2, depth);
		put_int(w->out, (int64_t)n);
		return 0;
	case INV_BOX_FUN:
		inv_buf_put(w->out, inv_box_ptr(x, 4), x[5]);
		return x[5] ? 0 : INV_EUNKNOWN;
	default:
		return INV_EUNKNOWN;
	}
}

static int put_word(const struct writer *w, inv_word t, unsigned depth)
{
	if (depth == 0)
		return INV_EDEPTH;
	if (inv_is_box(t))
		return put_box(w, inv_box(t), depth - 1);
	if (inv_is_cons(t))
		return put_list(w, t, depth - 1);
	if (inv_is_small(t))
		put_int(w->out, inv_small(t));
	else
		inv_buf_putc(w->out, NIL);
	return 0;
}

int inv_tree_etf(inv_word t, const char *node, uint32_t creation,
		 struct inv_buf *out)
{
	struct writer w = { .out = out,
			    .node = node ? node : "nonode@nohost",
			    .creation = creation };
	int rc;

	inv_buf_putc(out, (char)VERSION);
	rc = put_word(&w, t, INV_TREE_DEPTH);
	return rc ? rc : out->error;
}
