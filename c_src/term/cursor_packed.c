/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/varint.h"
#include "term/cursor_int.h"

#define OPEN_LEFT UINT32_MAX

static int get_varint(struct inv_cursor *c, uint64_t *v)
{
	const uint8_t *p = inv_varint_get(c->p, c->end, v);

	if (p) {
		c->p = p;
		return 0;
	}
	/* If ten or more bytes remain, the varint is not incomplete but
	 * invalid. */
	return inv__cursor_fail(c, inv__cursor_room(c) < INV_VARINT_MAX ?
					   INV_ETRUNCATED :
					   INV_EDAMAGED);
}

static int get_u32(struct inv_cursor *c, uint32_t *v, uint32_t most)
{
	uint64_t n;
	int r = get_varint(c, &n);

	if (r == 0 && n > most)
		r = inv__cursor_fail(c, INV_EDAMAGED);
	if (r == 0)
		*v = (uint32_t)n;
	return r;
}

/* Reads a varint n and then n bytes. */
static int get_bytes(struct inv_cursor *c, struct inv_token *tok)
{
	uint64_t n;
	int r = get_varint(c, &n);

	return r ? r : inv__cursor_bytes(c, tok, n);
}

/* --- functions -------------------------------------------------------------- */

bool inv__packed_function(struct inv_cursor *c)
{
	const uint8_t *p = c->p;
	uint64_t number;
	unsigned code;

	if (p == c->end)
		return false;
	code = *p++;
	c->with_args = true;
	if (code >= INV_T_APPLY_SMALL) {
		number = code - INV_T_APPLY_SMALL;
	} else if (code >= INV_T_DICT_SMALL && code < INV_T_TUPLE_SMALL) {
		number = code - INV_T_DICT_SMALL;
		c->with_args = false;
	} else if (code == INV_T_APPLY || code == INV_T_DICT) {
		p = inv_varint_get(p, c->end, &number);
		c->with_args = code == INV_T_APPLY;
	} else {
		return false;
	}
	if (!p || !inv_dict_function(c->dict, number, &c->function))
		return false;
	c->p = p;
	return true;
}

static void atom_token(struct inv_token *tok, const struct inv_dict_entry *e)
{
	tok->kind = INV_TOK_ATOM;
	tok->plain = e->plain;
	tok->bytes = e->bytes;
	tok->len = e->len;
}

/* Sets *tok to the third element of c->function: its arity, or the first token
 * of the list of its arguments. */
static int last_token(struct inv_cursor *c, struct inv_token *tok)
{
	uint32_t arity = c->function.arity;

	if (!c->with_args) {
		tok->kind = INV_TOK_INT;
		tok->i = arity;
		return 0;
	}
	if (!arity) {
		tok->kind = INV_TOK_NIL;
		return 0;
	}
	tok->kind = INV_TOK_LIST;
	tok->count = arity;
	return inv__cursor_open(c, INV_FRAME_ARGS, arity);
}

int inv__function_next(struct inv_cursor *c, struct inv_token *tok)
{
	unsigned which = c->pending++;

	tok->cut = 0;
	tok->sep = inv__cursor_sep(c->depth ? &c->stack[c->depth - 1] : NULL);
	switch (which) {
	case INV_PENDING_MODULE:
		atom_token(tok, c->function.module);
		return 0;
	case INV_PENDING_FUNCTION:
		atom_token(tok, c->function.function);
		return 0;
	default:
		c->pending = 0;
		return last_token(c, tok);
	}
}

/* Opens the tuple {M,F,_} of c->function. */
static int open_function(struct inv_cursor *c, struct inv_token *tok,
			 bool with_args)
{
	tok->kind = INV_TOK_TUPLE;
	tok->count = 3;
	c->with_args = with_args;
	c->pending = INV_PENDING_MODULE;
	return inv__cursor_open(c, INV_FRAME_TUPLE, 3);
}

static int apply_token(struct inv_cursor *c, struct inv_token *tok,
		       uint64_t number)
{
	if (!inv_dict_function(c->dict, number, &c->function))
		return inv__cursor_fail(c, INV_EDAMAGED);
	return open_function(c, tok, true);
}

static int entry_token(struct inv_cursor *c, struct inv_token *tok,
		       uint64_t number)
{
	const struct inv_dict_entry *e = inv_dict_get(c->dict, number);

	if (!e)
		return inv__cursor_fail(c, INV_EDAMAGED);
	switch (e->kind) {
	case INV_DEF_FUNCTION:
		if (!inv_dict_function(c->dict, number, &c->function))
			return inv__cursor_fail(c, INV_EDAMAGED);
		return open_function(c, tok, false);
	case INV_DEF_ATOM:
		atom_token(tok, e);
		return 0;
	case INV_DEF_PID:
	case INV_DEF_PORT:
		tok->kind = e->kind == INV_DEF_PID ? INV_TOK_PID : INV_TOK_PORT;
		tok->node = 0;
		tok->len = 0;
		tok->id[0] = e->number;
		tok->id[1] = e->serial;
		return 0;
	default:
		return inv__cursor_fail(c, INV_EDAMAGED);
	}
}

static int dict_token(struct inv_cursor *c, struct inv_token *tok)
{
	uint64_t number;
	int r = get_varint(c, &number);

	return r ? r : entry_token(c, tok, number);
}

static int float_token(struct inv_cursor *c, struct inv_token *tok)
{
	int r = inv__cursor_bytes(c, tok, sizeof(tok->f));

	if (r)
		return r;
	tok->kind = INV_TOK_FLOAT;
	memcpy(&tok->f, tok->bytes, sizeof(tok->f));
	return isfinite(tok->f) ? 0 : inv__cursor_fail(c, INV_EDAMAGED);
}

static int big_token(struct inv_cursor *c, struct inv_token *tok)
{
	int r = inv__cursor_bytes(c, tok, 1);

	if (r)
		return r;
	if (tok->bytes[0] > 1)
		return inv__cursor_fail(c, INV_EDAMAGED);
	tok->kind = INV_TOK_BIG;
	tok->negative = tok->bytes[0];
	return get_bytes(c, tok);
}

static int bits_token(struct inv_cursor *c, struct inv_token *tok)
{
	uint64_t bits;
	int r = get_varint(c, &bits);

	if (r)
		return r;
	tok->kind = INV_TOK_BINARY;
	tok->last_bits = bits % 8 ? bits % 8 : 8;
	return inv__cursor_bytes(c, tok, bits / 8 + (bits % 8 != 0));
}

static int binary_cut_token(struct inv_cursor *c, struct inv_token *tok)
{
	uint64_t bits;
	int r = get_varint(c, &bits);

	if (r == 0)
		r = get_bytes(c, tok);
	if (r)
		return r;
	if (tok->len > bits / 8)
		return inv__cursor_fail(c, INV_EDAMAGED);
	tok->kind = INV_TOK_BINARY;
	tok->last_bits = 8;
	tok->left = bits - 8 * (uint64_t)tok->len;
	tok->cut = tok->left ? INV_CUT_BINARY : 0;
	return 0;
}

/* Reads the two numbers of a CUT, HOLE or STRING_CUT: the kind, and how much is
 * missing. */
static int get_cut(struct inv_cursor *c, struct inv_token *tok)
{
	if (c->p == c->end)
		return inv__cursor_fail(c, INV_ETRUNCATED);
	tok->cut = *c->p++;
	if (tok->cut < INV_CUT_TUPLE || tok->cut > INV_CUT_BITS)
		return inv__cursor_fail(c, INV_EVERSION);
	return get_varint(c, &tok->left);
}

static bool is_list_cut(const struct inv_token *tok)
{
	return tok->cut == INV_CUT_LIST || tok->cut == INV_CUT_LIST_MIN;
}

static int string_token(struct inv_cursor *c, struct inv_token *tok,
			bool is_cut)
{
	int r = get_bytes(c, tok);

	tok->kind = INV_TOK_STRING;
	if (r)
		return r;
	if (!is_cut) {
		if (tok->len == 0)
			tok->kind = INV_TOK_NIL;
		return 0;
	}
	r = get_cut(c, tok);
	if (r == 0 && !is_list_cut(tok))
		r = inv__cursor_fail(c, INV_EDAMAGED);
	return r;
}

/*
 * Reads a CUT, whose kind must match the container f. The CUT has the number of
 * missing elements, but this number can be wrong. For a tuple or map the number
 * is ignored, and computed from the container's size instead.
 */
static int cut_token(struct inv_cursor *c, struct inv_cursor_frame *f,
		     struct inv_token *tok)
{
	int r = get_cut(c, tok);
	bool fits = false;

	tok->kind = INV_TOK_CUT;
	if (r)
		return r;
	/* The CUT is in the place of the first missing element. Because
	 * inv__cursor_sep has already subtracted this element from f->left, 1
	 * is added. */
	if (f && f->kind == INV_FRAME_TUPLE) {
		fits = tok->cut == INV_CUT_TUPLE;
		tok->left = (uint64_t)f->left + 1;
	} else if (f && f->kind == INV_FRAME_MAP) {
		fits = tok->cut == INV_CUT_MAP && f->left % 2 == 1;
		tok->left = (uint64_t)f->left / 2 + 1;
	} else if (f && f->kind == INV_FRAME_ARGS) {
		fits = tok->cut == INV_CUT_LIST;
		tok->left = (uint64_t)f->left + 1;
	} else if (f && f->kind == INV_FRAME_OPEN) {
		fits = is_list_cut(tok);
	}
	if (!fits)
		return inv__cursor_fail(c, INV_EDAMAGED);
	f->left = 0;
	return 0;
}

static int ref_token(struct inv_cursor *c, struct inv_token *tok)
{
	uint32_t n, i;
	int r = get_varint(c, &tok->node);

	tok->kind = INV_TOK_REF;
	tok->len = 0;
	if (r == 0)
		r = get_u32(c, &n, INV_REF_WORDS);
	for (i = 0; r == 0 && i < n; i++)
		r = get_varint(c, &tok->id[i]);
	if (r == 0)
		tok->n_ids = (uint8_t)n;
	return r;
}

static int xpid_token(struct inv_cursor *c, struct inv_token *tok,
		      unsigned kind)
{
	int r = get_varint(c, &tok->node);

	tok->kind = (uint8_t)kind;
	tok->len = 0;
	if (r == 0)
		r = get_varint(c, &tok->id[0]);
	if (r == 0 && kind == INV_TOK_PID)
		r = get_varint(c, &tok->id[1]);
	return r;
}

/* Reads one of the three terms of an EXPORT. The term must be of the kind
 * `kind', which is INV_TOK_ATOM or INV_TOK_INT. */
static int small_term(struct inv_cursor *c, struct inv_token *tok,
		      unsigned kind)
{
	uint64_t n;
	uint8_t code;
	int r;

	if (c->p == c->end)
		return inv__cursor_fail(c, INV_ETRUNCATED);
	code = *c->p++;
	if (code < INV_T_DICT_SMALL) {
		tok->kind = INV_TOK_INT;
		tok->i = code;
	} else if (code < INV_T_TUPLE_SMALL) {
		r = entry_token(c, tok, code - INV_T_DICT_SMALL);
		if (r)
			return r;
	} else if (code == INV_T_DICT) {
		r = dict_token(c, tok);
		if (r)
			return r;
	} else if (code == INV_T_INT) {
		r = get_varint(c, &n);
		if (r)
			return r;
		tok->kind = INV_TOK_INT;
		tok->i = inv_unzigzag(n);
	} else {
		return inv__cursor_fail(c, INV_EDAMAGED);
	}
	return tok->kind == kind ? 0 : inv__cursor_fail(c, INV_EDAMAGED);
}

static int export_token(struct inv_cursor *c, struct inv_token *tok)
{
	const uint8_t *module;
	size_t len;
	int r = small_term(c, tok, INV_TOK_ATOM);

	module = tok->bytes;
	len = tok->len;
	if (r == 0)
		r = small_term(c, tok, INV_TOK_ATOM);
	tok->bytes2 = tok->bytes;
	tok->len2 = tok->len;
	tok->bytes = module;
	tok->len = len;
	if (r == 0)
		r = small_term(c, tok, INV_TOK_INT);
	if (r)
		return r;
	if (tok->i < 0 || tok->i > 255)
		return inv__cursor_fail(c, INV_EDAMAGED);
	tok->count = (uint32_t)tok->i;
	tok->kind = INV_TOK_EXPORT;
	return 0;
}

static int open_token(struct inv_cursor *c, struct inv_token *tok,
		      unsigned code)
{
	int r;

	tok->count = 0;
	if (code == INV_T_LIST) {
		tok->kind = INV_TOK_LIST;
		return inv__cursor_open(c, INV_FRAME_OPEN, OPEN_LEFT);
	}
	if (code == INV_T_TUPLE) {
		tok->kind = INV_TOK_TUPLE;
		r = get_u32(c, &tok->count, UINT32_MAX);
		return r ? r : inv__cursor_open(c, INV_FRAME_TUPLE, tok->count);
	}
	tok->kind = INV_TOK_MAP;
	r = get_u32(c, &tok->count, INT32_MAX);
	return r ? r : inv__cursor_open(c, INV_FRAME_MAP, 2 * tok->count);
}

/* Reads the first token of a term whose code is 0xc0 or higher. */
static int coded(struct inv_cursor *c, struct inv_cursor_frame *f,
		 struct inv_token *tok, unsigned code)
{
	uint64_t n;
	int r;

	switch (code) {
	case INV_T_NIL:
		tok->kind = INV_TOK_NIL;
		return 0;
	case INV_T_INT:
		tok->kind = INV_TOK_INT;
		r = get_varint(c, &n);
		if (r == 0)
			tok->i = inv_unzigzag(n);
		return r;
	case INV_T_BIG:
		return big_token(c, tok);
	case INV_T_FLOAT:
		return float_token(c, tok);
	case INV_T_DICT:
		return dict_token(c, tok);
	case INV_T_TUPLE:
	case INV_T_LIST:
	case INV_T_MAP:
		return open_token(c, tok, code);
	case INV_T_CUT:
		return cut_token(c, f, tok);
	case INV_T_HOLE:
		tok->kind = INV_TOK_HOLE;
		return get_cut(c, tok);
	case INV_T_BINARY:
		tok->kind = INV_TOK_BINARY;
		tok->last_bits = 8;
		return get_bytes(c, tok);
	case INV_T_BITS:
		return bits_token(c, tok);
	case INV_T_BINARY_CUT:
		return binary_cut_token(c, tok);
	case INV_T_STRING:
		return string_token(c, tok, false);
	case INV_T_STRING_CUT:
		return string_token(c, tok, true);
	case INV_T_REF:
		return ref_token(c, tok);
	case INV_T_XPID:
		return xpid_token(c, tok, INV_TOK_PID);
	case INV_T_XPORT:
		return xpid_token(c, tok, INV_TOK_PORT);
	case INV_T_EXPORT:
		return export_token(c, tok);
	case INV_T_TEXT:
		tok->kind = INV_TOK_TEXT;
		return get_bytes(c, tok);
	case INV_T_APPLY:
		r = get_varint(c, &n);
		return r ? r : apply_token(c, tok, n);
	case INV_T_TAIL: /* outside of a list */
	case INV_T_END:
		return inv__cursor_fail(c, INV_EDAMAGED);
	default:
		if (code >= INV_T_APPLY_SMALL)
			return apply_token(c, tok, code - INV_T_APPLY_SMALL);
		return inv__cursor_fail(c, INV_EVERSION);
	}
}

int inv__packed_next(struct inv_cursor *c, struct inv_cursor_frame *f,
		     struct inv_token *tok)
{
	unsigned code = *c->p++;

	if (code == INV_T_END && f && f->kind == INV_FRAME_OPEN)
		return inv__cursor_end(c, tok);
	tok->cut = 0;
	tok->sep = inv__cursor_sep(f);
	if (code == INV_T_TAIL && f && f->kind == INV_FRAME_OPEN) {
		if (tok->sep == INV_SEP_NONE)
			return inv__cursor_fail(c, INV_EDAMAGED);
		if (c->p == c->end)
			return inv__cursor_fail(c, INV_ETRUNCATED);
		f->kind = INV_FRAME_CLOSED;
		f->left = 0;
		tok->sep = INV_SEP_BAR;
		code = *c->p++;
	}
	if (code < INV_T_DICT_SMALL) {
		tok->kind = INV_TOK_INT;
		tok->i = code;
		return 0;
	}
	if (code < INV_T_TUPLE_SMALL)
		return entry_token(c, tok, code - INV_T_DICT_SMALL);
	if (code < INV_T_BINARY_SMALL) {
		tok->kind = INV_TOK_TUPLE;
		tok->count = code - INV_T_TUPLE_SMALL;
		return inv__cursor_open(c, INV_FRAME_TUPLE, tok->count);
	}
	if (code < INV_T_STRING_SMALL) {
		tok->kind = INV_TOK_BINARY;
		tok->last_bits = 8;
		return inv__cursor_bytes(c, tok, code - INV_T_BINARY_SMALL);
	}
	if (code < INV_T_NIL) {
		tok->kind = INV_TOK_STRING;
		return inv__cursor_bytes(c, tok, code - INV_T_STRING_SMALL + 1);
	}
	return coded(c, f, tok, code);
}
