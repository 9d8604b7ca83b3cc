/* SPDX-License-Identifier: Apache-2.0 */
#include "term/etf.h"

#include <stdlib.h>
#include <string.h>

enum {
	NEW_FLOAT = 70,
	BIT_BINARY = 77,
	NEW_PID = 88,
	NEWER_REFERENCE = 90,
	SMALL_INTEGER = 97,
	INTEGER = 98,
	SMALL_TUPLE = 104,
	LARGE_TUPLE = 105,
	NIL = 106,
	STRING = 107,
	LIST = 108,
	BINARY = 109,
	SMALL_BIG = 110,
	LARGE_BIG = 111,
	EXPORT = 113,
	MAP = 116,
	ATOM_UTF8 = 118,
	SMALL_ATOM_UTF8 = 119,
	V4_PORT = 120,
};

static uint8_t *be16(uint8_t *w, uint32_t v)
{
	*w++ = (uint8_t)(v >> 8);
	*w++ = (uint8_t)v;
	return w;
}

static uint8_t *be32(uint8_t *w, uint32_t v)
{
	return be16(be16(w, v >> 16), v & 0xffff);
}

static uint8_t *be64(uint8_t *w, uint64_t v)
{
	return be32(be32(w, (uint32_t)(v >> 32)), (uint32_t)v);
}

/* A code and a 32-bit number. */
static void put_sized(struct inv_buf *out, uint8_t code, uint32_t n)
{
	uint8_t *w = inv_buf_reserve(out, 5);

	if (!w)
		return;
	*w = code;
	be32(w + 1, n);
	inv_buf_commit(out, 5);
}

void inv_etf_tuple(struct inv_buf *out, uint32_t arity)
{
	if (arity > UINT8_MAX) {
		put_sized(out, LARGE_TUPLE, arity);
	} else {
		inv_buf_putc(out, (char)SMALL_TUPLE);
		inv_buf_putc(out, (char)arity);
	}
}

void inv_etf_list(struct inv_buf *out, uint32_t n)
{
	put_sized(out, LIST, n);
}

void inv_etf_nil(struct inv_buf *out)
{
	inv_buf_putc(out, NIL);
}

void inv_etf_atom(struct inv_buf *out, const void *name, size_t len)
{
	uint8_t *w = inv_buf_reserve(out, len + 3);

	if (!w)
		return;
	if (len > UINT8_MAX) {
		*w++ = ATOM_UTF8;
		w = be16(w, (uint32_t)len);
		inv_buf_commit(out, 3 + len);
	} else {
		*w++ = SMALL_ATOM_UTF8;
		*w++ = (uint8_t)len;
		inv_buf_commit(out, 2 + len);
	}
	memcpy(w, name, len);
}

void inv_etf_binary(struct inv_buf *out, const void *p, size_t len)
{
	put_sized(out, BINARY, (uint32_t)len);
	inv_buf_put(out, p, len);
}

static void put_big(struct inv_buf *out, bool negative, const uint8_t *p,
		    size_t n)
{
	if (n > UINT8_MAX) {
		put_sized(out, LARGE_BIG, (uint32_t)n);
	} else {
		inv_buf_putc(out, SMALL_BIG);
		inv_buf_putc(out, (char)n);
	}
	inv_buf_putc(out, (char)negative);
	inv_buf_put(out, p, n);
}

void inv_etf_int(struct inv_buf *out, int64_t v)
{
	uint64_t magnitude = v < 0 ? -(uint64_t)v : (uint64_t)v;
	uint8_t bytes[8];
	size_t n = 0;

	if (v >= 0 && v <= UINT8_MAX) {
		inv_buf_putc(out, SMALL_INTEGER);
		inv_buf_putc(out, (char)v);
		return;
	}
	if (v >= INT32_MIN && v <= INT32_MAX) {
		put_sized(out, INTEGER, (uint32_t)(int32_t)v);
		return;
	}
	for (; magnitude; magnitude >>= 8)
		bytes[n++] = (uint8_t)magnitude;
	put_big(out, v < 0, bytes, n);
}

/* --- identifiers ---------------------------------------------------------- */

/* The atom of a node; what a pid says itself goes before what it is told. */
static uint32_t put_node(const struct inv_cursor *c,
			 const struct inv_token *tok,
			 const struct inv_etf_home *home, struct inv_buf *out)
{
	const struct inv_dict_entry *e = NULL;

	if (tok->len) {
		inv_etf_atom(out, tok->bytes, tok->len);
		return 0;
	}
	if (tok->node && c->dict)
		e = inv_dict_node(c->dict, tok->node);
	if (e)
		inv_etf_atom(out, e->bytes, e->len);
	else
		inv_etf_atom(out, home->node, strlen(home->node));
	return e ? (uint32_t)e->serial : home->creation;
}

static void put_pid(const struct inv_cursor *c, const struct inv_token *tok,
		    const struct inv_etf_home *home, struct inv_buf *out)
{
	uint32_t creation;
	uint8_t *w;

	inv_buf_putc(out, NEW_PID);
	creation = put_node(c, tok, home, out);
	w = inv_buf_reserve(out, 12);
	if (!w)
		return;
	w = be32(w, (uint32_t)tok->id[0]);
	w = be32(w, (uint32_t)tok->id[1]);
	be32(w, creation);
	inv_buf_commit(out, 12);
}

static void put_port(const struct inv_cursor *c, const struct inv_token *tok,
		     const struct inv_etf_home *home, struct inv_buf *out)
{
	uint32_t creation;
	uint8_t *w;

	inv_buf_putc(out, V4_PORT);
	creation = put_node(c, tok, home, out);
	w = inv_buf_reserve(out, 12);
	if (!w)
		return;
	w = be64(w, tok->id[0]);
	be32(w, creation);
	inv_buf_commit(out, 12);
}

/* Its words are printed in the opposite order. */
static void put_ref(const struct inv_cursor *c, const struct inv_token *tok,
		    const struct inv_etf_home *home, struct inv_buf *out)
{
	uint32_t creation;
	uint8_t *w;

	inv_buf_putc(out, NEWER_REFERENCE);
	inv_buf_putc(out, 0);
	inv_buf_putc(out, (char)tok->n_ids);
	creation = put_node(c, tok, home, out);
	w = inv_buf_reserve(out, 4 + 4 * INV_REF_WORDS);
	if (!w)
		return;
	w = be32(w, creation);
	for (unsigned i = tok->n_ids; i-- > 0;)
		w = be32(w, (uint32_t)tok->id[i]);
	inv_buf_commit(out, 4 + 4u * tok->n_ids);
}

/* --- terms ---------------------------------------------------------------- */

static void put_float(double f, struct inv_buf *out)
{
	uint8_t *w = inv_buf_reserve(out, 9);
	uint64_t bits;

	if (!w)
		return;
	memcpy(&bits, &f, sizeof(bits));
	*w++ = NEW_FLOAT;
	be64(w, bits);
	inv_buf_commit(out, 9);
}

static void put_hole(struct inv_buf *out)
{
	inv_etf_atom(out, "...", 3);
}

static void put_bytes(const struct inv_token *tok, struct inv_buf *out)
{
	if (tok->last_bits % 8 == 0 || tok->cut || !tok->len) {
		inv_etf_binary(out, tok->bytes, tok->len);
		return;
	}
	put_sized(out, BIT_BINARY, (uint32_t)tok->len);
	inv_buf_putc(out, (char)tok->last_bits);
	inv_buf_put(out, tok->bytes, tok->len);
}

static void put_string(const struct inv_token *tok, struct inv_buf *out)
{
	uint8_t *w;

	if (!tok->cut && tok->len && tok->len <= UINT16_MAX) {
		w = inv_buf_reserve(out, 3);
		if (!w)
			return;
		*w++ = STRING;
		be16(w, (uint32_t)tok->len);
		inv_buf_commit(out, 3);
		inv_buf_put(out, tok->bytes, tok->len);
		return;
	}
	inv_etf_list(out, (uint32_t)tok->len + (tok->cut != 0));
	for (size_t i = 0; i < tok->len; i++)
		inv_etf_int(out, tok->bytes[i]);
	if (tok->cut)
		put_hole(out);
	inv_etf_nil(out);
}

static void put_scalar(const struct inv_cursor *c, const struct inv_token *tok,
		       const struct inv_etf_home *home, struct inv_buf *out)
{
	switch (tok->kind) {
	case INV_TOK_INT:
		inv_etf_int(out, tok->i);
		break;
	case INV_TOK_BIG:
		put_big(out, tok->negative, tok->bytes, tok->len);
		break;
	case INV_TOK_FLOAT:
		put_float(tok->f, out);
		break;
	case INV_TOK_ATOM:
		inv_etf_atom(out, tok->bytes, tok->len);
		break;
	case INV_TOK_PID:
		put_pid(c, tok, home, out);
		break;
	case INV_TOK_PORT:
		put_port(c, tok, home, out);
		break;
	case INV_TOK_REF:
		put_ref(c, tok, home, out);
		break;
	case INV_TOK_BINARY:
		put_bytes(tok, out);
		break;
	case INV_TOK_STRING:
		put_string(tok, out);
		break;
	case INV_TOK_NIL:
		inv_etf_nil(out);
		break;
	case INV_TOK_EXPORT:
		inv_buf_putc(out, EXPORT);
		inv_etf_atom(out, tok->bytes, tok->len);
		inv_etf_atom(out, tok->bytes2, tok->len2);
		inv_etf_int(out, tok->count);
		break;
	case INV_TOK_TEXT:
		inv_etf_binary(out, tok->bytes, tok->len);
		break;
	default: /* what is left out; a local fun, which only ETF has */
		put_hole(out);
		break;
	}
}

/*
 * A container that is open: how many elements it has is known at its end.  Of
 * a tuple of less than 256 the number takes a byte.
 */
struct open {
	size_t at; /* of the number */
	uint32_t n;
	uint8_t kind;
	bool wide; /* the number takes four bytes */
	bool tailed;
};

struct open_stack {
	struct open *v;
	uint32_t n, cap;
};

static int push(struct open_stack *st, const struct inv_token *tok,
		struct inv_buf *out)
{
	struct open *o;

	if (st->n == st->cap) {
		uint32_t cap = st->cap ? 2 * st->cap : 32;

		o = realloc(st->v, cap * sizeof(*o));
		if (!o)
			return INV_ENOMEM;
		st->v = o;
		st->cap = cap;
	}
	o = &st->v[st->n++];
	*o = (struct open){ .at = out->len + 1, .kind = tok->kind };
	if (tok->kind == INV_TOK_TUPLE) {
		inv_etf_tuple(out, tok->count);
		o->wide = tok->count > UINT8_MAX;
	} else {
		o->wide = true;
		put_sized(out, tok->kind == INV_TOK_MAP ? MAP : LIST, 0);
	}
	return out->error;
}

static void pop(struct open_stack *st, struct inv_buf *out)
{
	const struct open *o = &st->v[--st->n];

	if (out->error)
		return;
	if (o->wide)
		be32(out->data + o->at,
		     o->kind == INV_TOK_MAP ? o->n / 2 : o->n);
	else
		out->data[o->at] = (uint8_t)o->n;
	if (o->kind == INV_TOK_LIST && !o->tailed)
		inv_etf_nil(out);
}

/* One more element of what is open innermost. */
static void count(const struct open_stack *st, const struct inv_token *tok,
		  struct inv_buf *out)
{
	struct open *o;

	if (!st->n)
		return;
	o = &st->v[st->n - 1];
	if (tok->sep == INV_SEP_BAR)
		o->tailed = true;
	else
		o->n++;
	/* The rest of a map is a pair. */
	if (tok->kind == INV_TOK_CUT && o->kind == INV_TOK_MAP) {
		o->n++;
		put_hole(out);
	}
}

static int put_token(struct inv_cursor *c, const struct inv_token *tok,
		     const struct inv_etf_home *home, struct inv_buf *out,
		     struct open_stack *st)
{
	if (tok->kind == INV_TOK_END) {
		pop(st, out);
		return 0;
	}
	count(st, tok, out);
	if (tok->kind >= INV_TOK_TUPLE && tok->kind <= INV_TOK_MAP)
		return push(st, tok, out);
	put_scalar(c, tok, home, out);
	return 0;
}

int inv_term_etf_token(struct inv_cursor *c, const struct inv_token *tok,
		       const struct inv_etf_home *home, struct inv_buf *out)
{
	struct open_stack st = { 0 };
	struct inv_token next = *tok;
	int r;

	if (tok->kind == INV_TOK_END)
		return INV_END;
	r = put_token(c, tok, home, out, &st);
	while (!r && st.n) {
		r = inv_cursor_next(c, &next);
		if (!r)
			r = put_token(c, &next, home, out, &st);
	}
	free(st.v);
	return r ? r : out->error;
}

int inv_term_etf(struct inv_cursor *c, const struct inv_etf_home *home,
		 struct inv_buf *out)
{
	struct inv_token tok;
	int r = inv_cursor_next(c, &tok);

	return r ? r : inv_term_etf_token(c, &tok, home, out);
}
