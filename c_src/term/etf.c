/* SPDX-License-Identifier: Apache-2.0 */
#include "term/etf.h"

#include <string.h>

#include "base/alloc.h"
#include "term/tree_walk.h"

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

/* Appends v as n bytes, most significant first. */
static void put_be(struct inv_buf *out, uint64_t v, unsigned n)
{
	uint8_t *w = inv_buf_reserve(out, n);

	if (!w)
		return;
	inv_buf_commit(out, n);
	while (n--) {
		w[n] = (uint8_t)v;
		v >>= 8;
	}
}

/* Appends the byte `code' and the 32-bit number n. */
static void put_sized(struct inv_buf *out, uint8_t code, uint32_t n)
{
	put_be(out, (uint64_t)code << 32 | n, 5);
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

void inv_etf_map(struct inv_buf *out, size_t pairs)
{
	put_sized(out, MAP, (uint32_t)pairs);
}

/* Writes the head of a list of n elements.  The caller then writes the elements
 * and calls inv_etf_nil.  An empty list has no head, only the nil. */
void inv_etf_list(struct inv_buf *out, size_t n)
{
	if (n)
		put_sized(out, LIST, (uint32_t)n);
}

void inv_etf_nil(struct inv_buf *out)
{
	inv_buf_putc(out, NIL);
}

void inv_etf_atom(struct inv_buf *out, const void *name, size_t len)
{
	if (len > UINT8_MAX)
		put_be(out, ATOM_UTF8 << 16 | len, 3);
	else
		put_be(out, SMALL_ATOM_UTF8 << 8 | len, 2);
	inv_buf_put(out, name, len);
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

/* --- one term ------------------------------------------------------------- */

/*
 * An open container. Bytes for the number of its elements are reserved at its
 * beginning. The number is known only at the container's end, and is then
 * written into these bytes.
 */
struct open {
	size_t at; /* offset of the reserved bytes in the output */
	uint32_t n;
	uint8_t kind;
	bool wide;   /* true: four bytes are reserved; false: one byte, for a
		    * tuple of fewer than 256 elements */
	bool tailed; /* the tail of an improper list was written */
};

struct writer {
	struct inv_buf *out;
	const struct inv_etf_home *home;
	const struct inv_dict *dict; /* dictionary of packed terms, or NULL */
	bool exact;		     /* unrecorded parts are an error, and
					identifiers keep their creation */
	struct open *open;	     /* stack of n open containers */
	uint32_t n, cap;
};

/* Appends the name of the node of a pid, port or reference: the name in the
 * token; if the token has none, the name in the dictionary; if the dictionary
 * has none either, the recording node's name. Returns the node's creation. */
static uint32_t put_node(const struct writer *w, const struct inv_token *tok)
{
	uint32_t own = w->exact ? tok->creation : 0;
	const struct inv_dict_entry *e = NULL;

	if (tok->len) {
		inv_etf_atom(w->out, tok->bytes, tok->len);
		return own;
	}
	if (tok->node && w->dict)
		e = inv_dict_node(w->dict, tok->node);
	if (e) {
		inv_etf_atom(w->out, e->bytes, e->len);
		return (uint32_t)e->serial;
	}
	inv_etf_atom(w->out, w->home->node, strlen(w->home->node));
	return own ? own : w->home->creation;
}

static void put_pid(const struct writer *w, const struct inv_token *tok)
{
	uint32_t creation;

	inv_buf_putc(w->out, NEW_PID);
	creation = put_node(w, tok);
	put_be(w->out, tok->id[0] << 32 | (uint32_t)tok->id[1], 8);
	put_be(w->out, creation, 4);
}

static void put_port(const struct writer *w, const struct inv_token *tok)
{
	uint32_t creation;

	inv_buf_putc(w->out, V4_PORT);
	creation = put_node(w, tok);
	put_be(w->out, tok->id[0], 8);
	put_be(w->out, creation, 4);
}

/* Appends a reference. The external format has its numbers in the reverse of
 * the order in which they are printed. */
static void put_ref(const struct writer *w, const struct inv_token *tok)
{
	put_be(w->out, NEWER_REFERENCE << 16 | tok->n_ids, 3);
	put_be(w->out, put_node(w, tok), 4);
	for (unsigned i = tok->n_ids; i-- > 0;)
		put_be(w->out, tok->id[i], 4);
}

static void put_float(double f, struct inv_buf *out)
{
	uint64_t bits;

	memcpy(&bits, &f, sizeof(bits));
	inv_buf_putc(out, NEW_FLOAT);
	put_be(out, bits, 8);
}

static void put_hole(struct inv_buf *out)
{
	inv_etf_atom(out, "...", 3);
}

/* Appends the mark of a redacted value, {'$redacted',Type}. The keys of a map
 * must be different, so a mark that is a key also gets a number. */
static void put_mark(const struct writer *w, uint64_t type)
{
	const struct open *o = w->n ? &w->open[w->n - 1] : NULL;
	bool is_key = o && o->kind == INV_TOK_MAP && o->n % 2 == 1;
	const char *text = inv_redacted_text(type);

	inv_etf_tuple(w->out, 2u + is_key);
	inv_etf_atom(w->out, "$redacted", 9);
	inv_etf_atom(w->out, text, strlen(text));
	if (is_key)
		inv_etf_int(w->out, o->n / 2 + 1);
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
	if (!tok->cut && tok->len && tok->len <= UINT16_MAX) {
		put_be(out, STRING << 16 | tok->len, 3);
		inv_buf_put(out, tok->bytes, tok->len);
		return;
	}
	inv_etf_list(out, tok->len + (tok->cut != 0));
	for (size_t i = 0; i < tok->len; i++)
		inv_etf_int(out, tok->bytes[i]);
	if (tok->cut)
		put_hole(out);
	inv_etf_nil(out);
}

static int put_scalar(const struct writer *w, const struct inv_token *tok)
{
	struct inv_buf *out = w->out;

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
		put_pid(w, tok);
		break;
	case INV_TOK_PORT:
		put_port(w, tok);
		break;
	case INV_TOK_REF:
		put_ref(w, tok);
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
		if (w->exact)
			return INV_EUNKNOWN;
		inv_etf_binary(out, tok->bytes, tok->len);
		break;
	default: /* HOLE and FUN. The external format of a FUN (a local fun) is
		    known only if the token comes from a tree. */
		if (w->exact && tok->kind == INV_TOK_FUN && tok->len2) {
			inv_buf_put(out, tok->bytes2, tok->len2);
			break;
		}
		if (w->exact)
			return INV_EUNKNOWN;
		if (inv_token_redacted(tok))
			put_mark(w, inv_token_redacted(tok));
		else
			put_hole(out);
		break;
	}
	return 0;
}

static int push(struct writer *w, const struct inv_token *tok)
{
	struct open *o;

	if (w->n == w->cap) {
		uint32_t cap = w->cap ? 2 * w->cap : 32;

		o = inv_realloc(w->open, cap * sizeof(*o));
		if (!o)
			return INV_ENOMEM;
		w->open = o;
		w->cap = cap;
	}
	o = &w->open[w->n++];
	*o = (struct open){ .at = w->out->len + 1,
			    .kind = tok->kind,
			    .wide = true };
	if (tok->kind == INV_TOK_TUPLE) {
		inv_etf_tuple(w->out, tok->count);
		o->wide = tok->count > UINT8_MAX;
	} else {
		put_sized(w->out, tok->kind == INV_TOK_MAP ? MAP : LIST, 0);
	}
	return 0;
}

static void pop(struct writer *w)
{
	const struct open *o = &w->open[--w->n];
	uint32_t n = o->kind == INV_TOK_MAP ? o->n / 2 : o->n;

	if (w->out->error)
		return;
	for (unsigned i = o->wide ? 4 : 1; i-- > 0; n >>= 8)
		w->out->data[o->at + i] = (uint8_t)n;
	if (o->kind == INV_TOK_LIST && !o->tailed)
		inv_etf_nil(w->out);
}

/* Call it when the first token of a term, tok, was read. Updates the number of
 * elements of the innermost open container. */
static void count(const struct writer *w, const struct inv_token *tok)
{
	struct open *o;

	if (!w->n)
		return;
	o = &w->open[w->n - 1];
	if (tok->sep == INV_SEP_BAR)
		o->tailed = true;
	else
		o->n++;
	/* In a map, a CUT becomes the pair '...' => '...'. The key is written
	 * here, and the value where the CUT itself is written. */
	if (tok->kind == INV_TOK_CUT && o->kind == INV_TOK_MAP) {
		o->n++;
		put_hole(w->out);
	}
}

static int put_token(void *arg, const struct inv_token *tok)
{
	struct writer *w = arg;
	int rc;

	if (tok->kind == INV_TOK_END) {
		pop(w);
		return w->out->error;
	}
	count(w, tok);
	if (w->exact && tok->kind == INV_TOK_MAP && tok->cut)
		return INV_EUNKNOWN;
	if (tok->kind >= INV_TOK_TUPLE && tok->kind <= INV_TOK_MAP)
		rc = push(w, tok);
	else
		rc = put_scalar(w, tok);
	return rc ? rc : w->out->error;
}

/* --- terms from a cursor -------------------------------------------------- */

int inv_term_etf_token(struct inv_cursor *c, const struct inv_token *tok,
		       const struct inv_etf_home *home, struct inv_buf *out)
{
	struct writer w = { .out = out, .home = home, .dict = c->dict };
	struct inv_token next;
	int rc;

	if (tok->kind == INV_TOK_END)
		return INV_END;
	rc = put_token(&w, tok);
	while (!rc && w.n) {
		rc = inv_cursor_next(c, &next);
		if (!rc)
			rc = put_token(&w, &next);
	}
	inv_free(w.open);
	return rc;
}

int inv_term_etf(struct inv_cursor *c, const struct inv_etf_home *home,
		 struct inv_buf *out)
{
	struct inv_token tok;
	int rc = inv_cursor_next(c, &tok);

	return rc ? rc : inv_term_etf_token(c, &tok, home, out);
}

/* --- trees ---------------------------------------------------------------- */

int inv_tree_etf(inv_word t, const char *node, uint32_t creation,
		 struct inv_buf *out)
{
	const struct inv_etf_home home = { node ? node : "nonode@nohost",
					   creation };
	struct writer w = { .out = out, .home = &home, .exact = true };
	int rc;

	inv_buf_putc(out, (char)INV_ETF_VERSION);
	rc = inv_tree_walk(t, put_token, &w);
	inv_free(w.open);
	return rc ? rc : out->error;
}
