/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "term/cursor_int.h"

/* The tags of Erlang's external term format that OTP 25 to 29 write. */
enum etf_tag {
	ETF_NEW_FLOAT = 70,
	ETF_BIT_BINARY = 77,
	ETF_COMPRESSED = 80,
	ETF_NEW_PID = 88,
	ETF_NEW_PORT = 89,
	ETF_NEWER_REFERENCE = 90,
	ETF_SMALL_INTEGER = 97,
	ETF_INTEGER = 98,
	ETF_FLOAT = 99,
	ETF_ATOM = 100,
	ETF_REFERENCE = 101,
	ETF_PORT = 102,
	ETF_PID = 103,
	ETF_SMALL_TUPLE = 104,
	ETF_LARGE_TUPLE = 105,
	ETF_NIL = 106,
	ETF_STRING = 107,
	ETF_LIST = 108,
	ETF_BINARY = 109,
	ETF_SMALL_BIG = 110,
	ETF_LARGE_BIG = 111,
	ETF_NEW_FUN = 112,
	ETF_EXPORT = 113,
	ETF_NEW_REFERENCE = 114,
	ETF_SMALL_ATOM = 115,
	ETF_MAP = 116,
	ETF_ATOM_UTF8 = 118,
	ETF_SMALL_ATOM_UTF8 = 119,
	ETF_V4_PORT = 120,
	ETF_LOCAL = 121,
};

/* Reads a big-endian number of n bytes. The caller has checked that the input
 * has n more bytes. */
static uint64_t take(struct inv_cursor *c, unsigned n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | *c->p++;
	return v;
}

static int get(struct inv_cursor *c, unsigned n, uint64_t *v)
{
	if (n > inv__cursor_room(c))
		return inv__cursor_fail(c, INV_ETRUNCATED);
	*v = take(c, n);
	return 0;
}

/* Reads a length, which is encoded in n bytes, and then as many bytes as the
 * length says. */
static int get_bytes(struct inv_cursor *c, struct inv_token *tok, unsigned n)
{
	uint64_t len;
	int r = get(c, n, &len);

	return r ? r : inv__cursor_bytes(c, tok, len);
}

/* Converts the token's bytes from Latin-1 to UTF-8, in c->scratch[place]. */
static int convert_latin1(struct inv_cursor *c, struct inv_token *tok,
			  unsigned place)
{
	uint8_t *w = c->scratch[place];
	size_t i;

	if (tok->len > INV_ATOM_CHARS)
		return inv__cursor_fail(c, INV_EDAMAGED);
	for (i = 0; i < tok->len; i++)
		w = inv_utf8_put(w, tok->bytes[i]);
	tok->bytes = c->scratch[place];
	tok->len = (size_t)(w - c->scratch[place]);
	return 0;
}

static bool is_ascii(const uint8_t *p, size_t len)
{
	uint8_t all = 0;
	size_t i;

	for (i = 0; i < len; i++)
		all |= p[i];
	return all < 0x80;
}

static int atom_token(struct inv_cursor *c, struct inv_token *tok, unsigned tag,
		      unsigned place)
{
	bool utf8 = tag == ETF_ATOM_UTF8 || tag == ETF_SMALL_ATOM_UTF8;
	bool small = tag == ETF_SMALL_ATOM || tag == ETF_SMALL_ATOM_UTF8;
	int r = get_bytes(c, tok, small ? 1 : 2);

	tok->kind = INV_TOK_ATOM;
	tok->plain = false;
	if (r || (is_ascii(tok->bytes, tok->len) && tok->len <= INV_ATOM_CHARS))
		return r;
	if (!utf8)
		return convert_latin1(c, tok, place);
	if (tok->len > 4 * INV_ATOM_CHARS ||
	    !inv_utf8_valid(tok->bytes, tok->len))
		return inv__cursor_fail(c, INV_EDAMAGED);
	return 0;
}

/* Reads an atom that is part of another term, such as the node of a pid. An
 * atom in Latin-1 is converted in c->scratch[place]. */
static int get_atom(struct inv_cursor *c, struct inv_token *tok, unsigned place)
{
	uint64_t tag;
	int r = get(c, 1, &tag);

	if (r)
		return r;
	if (tag != ETF_ATOM && tag != ETF_SMALL_ATOM && tag != ETF_ATOM_UTF8 &&
	    tag != ETF_SMALL_ATOM_UTF8)
		return inv__cursor_fail(c, INV_EDAMAGED);
	return atom_token(c, tok, (unsigned)tag, place);
}

/* Reads a pid or port: the node's name, and then number, serial and creation.
 * The arguments id, serial and creation are the widths of the last three fields
 * in bytes. */
static int pid_token(struct inv_cursor *c, struct inv_token *tok, unsigned kind,
		     unsigned id, unsigned serial, unsigned creation)
{
	int r = get_atom(c, tok, 0);

	if (r)
		return r;
	if (id + serial + creation > inv__cursor_room(c))
		return inv__cursor_fail(c, INV_ETRUNCATED);
	tok->kind = (uint8_t)kind;
	tok->node = 0;
	tok->id[0] = take(c, id);
	tok->id[1] = take(c, serial);
	tok->creation = (uint32_t)take(c, creation);
	return 0;
}

/* Reads the creation and the n numbers of a reference. Stores the numbers in
 * the order in which they are printed, which is the reverse of their order in
 * ETF. */
static int ref_words(struct inv_cursor *c, struct inv_token *tok, uint64_t n,
		     unsigned creation)
{
	uint64_t i;
	int r;

	if (n > INV_REF_WORDS)
		return inv__cursor_fail(c, INV_EDAMAGED);
	r = get_atom(c, tok, 0);
	if (r)
		return r;
	if (creation + 4 * n > inv__cursor_room(c))
		return inv__cursor_fail(c, INV_ETRUNCATED);
	tok->creation = (uint32_t)take(c, creation);
	for (i = n; i > 0; i--)
		tok->id[i - 1] = take(c, 4);
	tok->kind = INV_TOK_REF;
	tok->node = 0;
	tok->n_ids = (uint8_t)n;
	return 0;
}

static int ref_token(struct inv_cursor *c, struct inv_token *tok,
		     unsigned creation)
{
	uint64_t n;
	int r = get(c, 2, &n);

	return r ? r : ref_words(c, tok, n, creation);
}

static int old_ref_token(struct inv_cursor *c, struct inv_token *tok)
{
	int r = pid_token(c, tok, INV_TOK_REF, 4, 0, 1);

	tok->n_ids = 1;
	return r;
}

static int new_float_token(struct inv_cursor *c, struct inv_token *tok)
{
	uint64_t bits;
	int r = get(c, 8, &bits);

	if (r)
		return r;
	tok->kind = INV_TOK_FLOAT;
	memcpy(&tok->f, &bits, sizeof(bits));
	return isfinite(tok->f) ? 0 : inv__cursor_fail(c, INV_EDAMAGED);
}

/* Parses an exponent, up to the end of the text. Does not use strtol: if the
 * code is compiled with a newer libc, strtol becomes a symbol that older
 * releases of libc do not have. */
static bool read_exponent(const char *text, long *v)
{
	bool negative = *text == '-';

	*v = 0;
	text += *text == '-' || *text == '+';
	if (!*text)
		return false;
	for (; *text >= '0' && *text <= '9' && *v <= 400; text++)
		*v = 10 * *v + (*text - '0');
	if (*text || *v > 400)
		return false;
	*v = negative ? -*v : *v;
	return true;
}

/*
 * Reads a float in the old format: 31 bytes, written with "%.20e" and padded
 * with NULs. Removes the decimal point and adjusts the exponent, because strtod
 * expects the decimal point of the locale.
 */
static int old_float_token(struct inv_cursor *c, struct inv_token *tok)
{
	char text[48], *w = text, *rest;
	const uint8_t *p, *end;
	long exponent, digits = 0;
	int r = inv__cursor_bytes(c, tok, 31);

	if (r)
		return r;
	p = tok->bytes;
	end = p + tok->len;
	if (*p == '-')
		*w++ = (char)*p++;
	while (p < end && *p >= '0' && *p <= '9')
		*w++ = (char)*p++;
	if (p < end && *p == '.')
		for (p++; p < end && *p >= '0' && *p <= '9'; digits++)
			*w++ = (char)*p++;
	if (p >= end || *p != 'e' || digits == 0)
		return inv__cursor_fail(c, INV_EDAMAGED);
	*w++ = 'e';
	p++;
	memcpy(w, p, (size_t)(end - p));
	w[end - p] = '\0';
	if (!read_exponent(w, &exponent))
		return inv__cursor_fail(c, INV_EDAMAGED);
	exponent -= digits;
	*w++ = exponent < 0 ? '-' : '+';
	exponent = labs(exponent);
	*w++ = (char)('0' + exponent / 100);
	*w++ = (char)('0' + exponent / 10 % 10);
	*w++ = (char)('0' + exponent % 10);
	*w = '\0';
	tok->kind = INV_TOK_FLOAT;
	tok->f = strtod(text, &rest);
	if (*rest || !isfinite(tok->f))
		return inv__cursor_fail(c, INV_EDAMAGED);
	return 0;
}

static int big_token(struct inv_cursor *c, struct inv_token *tok,
		     unsigned width)
{
	uint64_t n, sign;
	int r = get(c, width, &n);

	if (r == 0)
		r = get(c, 1, &sign);
	if (r)
		return r;
	if (sign > 1)
		return inv__cursor_fail(c, INV_EDAMAGED);
	tok->kind = INV_TOK_BIG;
	tok->negative = sign;
	return inv__cursor_bytes(c, tok, n);
}

static int bits_token(struct inv_cursor *c, struct inv_token *tok)
{
	uint64_t n, bits;
	int r = get(c, 4, &n);

	if (r == 0)
		r = get(c, 1, &bits);
	if (r)
		return r;
	if (bits > 8 || (n > 0 && bits == 0))
		return inv__cursor_fail(c, INV_EDAMAGED);
	tok->kind = INV_TOK_BINARY;
	tok->last_bits = n > 0 ? (uint8_t)bits : 8;
	return inv__cursor_bytes(c, tok, n);
}

static int export_token(struct inv_cursor *c, struct inv_token *tok)
{
	const uint8_t *module;
	uint64_t tag, arity;
	size_t len;
	int r = get_atom(c, tok, 0);

	if (r)
		return r;
	module = tok->bytes;
	len = tok->len;
	r = get_atom(c, tok, 1);
	if (r)
		return r;
	tok->bytes2 = tok->bytes;
	tok->len2 = tok->len;
	tok->bytes = module;
	tok->len = len;
	r = get(c, 1, &tag);
	if (r == 0)
		r = get(c, 1, &arity);
	if (r)
		return r;
	if (tag != ETF_SMALL_INTEGER)
		return inv__cursor_fail(c, INV_EDAMAGED);
	tok->kind = INV_TOK_EXPORT;
	tok->count = (uint32_t)arity;
	return 0;
}

static int get_int(struct inv_cursor *c, uint64_t *v)
{
	uint64_t tag;
	int r = get(c, 1, &tag);

	if (r)
		return r;
	if (tag == ETF_SMALL_INTEGER)
		return get(c, 1, v);
	if (tag != ETF_INTEGER)
		return inv__cursor_fail(c, INV_EDAMAGED);
	r = get(c, 4, v);
	if (r == 0)
		*v = (uint64_t)(int64_t)(int32_t)*v;
	return r;
}

/*
 * Reads a local fun after its tag. Its fields, with their widths in bytes, are:
 * size 4, arity 1, uniq 16, index 4, n_free 4; and then terms: module, old
 * index, old uniq, pid, free variables. The token gets old index and old uniq,
 * because the VM prints these two. The size says where the fun ends, so the
 * free variables need not be read. The size includes its own four bytes.
 */
static int fun_token(struct inv_cursor *c, struct inv_token *tok)
{
	const uint8_t *end;
	uint64_t size;
	int r = get(c, 4, &size);

	if (r)
		return r;
	if (size < 4 + 25 || size - 4 > inv__cursor_room(c))
		return inv__cursor_fail(c, INV_ETRUNCATED);
	end = c->p + (size - 4);
	c->p += 25;
	r = get_atom(c, tok, 0);
	tok->kind = INV_TOK_FUN;
	if (r == 0)
		r = get_int(c, &tok->id[0]);
	if (r == 0)
		r = get_int(c, &tok->id[1]);
	if (r)
		return r;
	if (c->p > end)
		return inv__cursor_fail(c, INV_EDAMAGED);
	c->p = end;
	return 0;
}

static int string_token(struct inv_cursor *c, struct inv_token *tok)
{
	int r = get_bytes(c, tok, 2);

	tok->kind = r == 0 && tok->len == 0 ? INV_TOK_NIL : INV_TOK_STRING;
	return r;
}

/* Opens a container. The next `width' bytes say how many elements it has. Fails
 * if fewer bytes are left than it has elements, because an element takes at
 * least one byte. */
static int open_token(struct inv_cursor *c, struct inv_token *tok, unsigned tag,
		      unsigned width)
{
	uint64_t n;
	int r = get(c, width, &n);

	if (r)
		return r;
	if (n * (tag == ETF_MAP ? 2 : 1) > inv__cursor_room(c) ||
	    n >= INT32_MAX)
		return inv__cursor_fail(c, INV_ETRUNCATED);
	tok->count = (uint32_t)n;
	switch (tag) {
	case ETF_MAP:
		tok->kind = INV_TOK_MAP;
		return inv__cursor_open(c, INV_FRAME_MAP, 2 * tok->count);
	case ETF_LIST:
		tok->kind = INV_TOK_LIST;
		return inv__cursor_open(c, INV_FRAME_LIST, tok->count + 1);
	default:
		tok->kind = INV_TOK_TUPLE;
		return inv__cursor_open(c, INV_FRAME_TUPLE, tok->count);
	}
}

static int int_token(struct inv_cursor *c, struct inv_token *tok,
		     unsigned width)
{
	uint64_t v;
	int r = get(c, width, &v);

	tok->kind = INV_TOK_INT;
	if (r == 0)
		tok->i = width == 1 ? (int64_t)v : (int32_t)(uint32_t)v;
	return r;
}

static int coded(struct inv_cursor *c, struct inv_token *tok, unsigned tag)
{
	switch (tag) {
	case ETF_SMALL_INTEGER:
		return int_token(c, tok, 1);
	case ETF_INTEGER:
		return int_token(c, tok, 4);
	case ETF_SMALL_BIG:
		return big_token(c, tok, 1);
	case ETF_LARGE_BIG:
		return big_token(c, tok, 4);
	case ETF_NEW_FLOAT:
		return new_float_token(c, tok);
	case ETF_FLOAT:
		return old_float_token(c, tok);
	case ETF_ATOM:
	case ETF_SMALL_ATOM:
	case ETF_ATOM_UTF8:
	case ETF_SMALL_ATOM_UTF8:
		return atom_token(c, tok, tag, 0);
	case ETF_NEW_PID:
		return pid_token(c, tok, INV_TOK_PID, 4, 4, 4);
	case ETF_PID:
		return pid_token(c, tok, INV_TOK_PID, 4, 4, 1);
	case ETF_PORT:
		return pid_token(c, tok, INV_TOK_PORT, 4, 0, 1);
	case ETF_NEW_PORT:
		return pid_token(c, tok, INV_TOK_PORT, 4, 0, 4);
	case ETF_V4_PORT:
		return pid_token(c, tok, INV_TOK_PORT, 8, 0, 4);
	case ETF_REFERENCE:
		return old_ref_token(c, tok);
	case ETF_NEW_REFERENCE:
		return ref_token(c, tok, 1);
	case ETF_NEWER_REFERENCE:
		return ref_token(c, tok, 4);
	case ETF_SMALL_TUPLE:
		return open_token(c, tok, tag, 1);
	case ETF_LARGE_TUPLE:
	case ETF_LIST:
	case ETF_MAP:
		return open_token(c, tok, tag, 4);
	case ETF_NIL:
		tok->kind = INV_TOK_NIL;
		return 0;
	case ETF_STRING:
		return string_token(c, tok);
	case ETF_BINARY:
		tok->kind = INV_TOK_BINARY;
		tok->last_bits = 8;
		return get_bytes(c, tok, 4);
	case ETF_BIT_BINARY:
		return bits_token(c, tok);
	case ETF_NEW_FUN:
		return fun_token(c, tok);
	case ETF_EXPORT:
		return export_token(c, tok);
	case ETF_COMPRESSED:
	case ETF_LOCAL:
		return inv__cursor_fail(c, INV_EFORMAT);
	default:
		return inv__cursor_fail(c, INV_EVERSION);
	}
}

int inv__etf_next(struct inv_cursor *c, struct inv_cursor_frame *f,
		  struct inv_token *tok)
{
	unsigned tag = *c->p++;

	if (f && f->kind == INV_FRAME_LIST && f->left == 1) {
		if (tag == ETF_NIL)
			return inv__cursor_end(c, tok);
		if (f->fresh) /* [|x] is invalid */
			return inv__cursor_fail(c, INV_EDAMAGED);
		f->kind = INV_FRAME_CLOSED;
		f->left = 0;
		tok->sep = INV_SEP_BAR;
	} else {
		tok->sep = inv__cursor_sep(f);
	}
	tok->cut = 0;
	return coded(c, tok, tag);
}
