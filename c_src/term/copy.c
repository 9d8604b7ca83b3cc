/* SPDX-License-Identifier: Apache-2.0 */
#include "term/copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

/*
 * A copy is
 *
 *	struct head | struct entry, n_entries times | names | terms
 *
 * A copy does not begin at an aligned address, so structs are read and written
 * with memcpy.
 */
struct head {
	uint32_t n_entries;
	uint32_t highest; /* the highest dictionary number of a copied entry */
	size_t names;	  /* bytes of all copied names */
	size_t len;	  /* bytes of the copied terms */
};

struct entry {
	uint32_t number;
	struct inv_dict_entry e; /* e.bytes is not used: the names follow in the
				    order of the entries */
};

struct work {
	struct inv_copier *copier;
	struct inv_buf *out;
	const struct inv_dict *dict;
	struct head head;
};

static int add_one(struct work *w, uint64_t number)
{
	const struct inv_dict_entry *e = inv_dict_get(w->dict, number);
	struct entry x;

	if (!e)
		return INV_EDAMAGED;
	if (w->copier->copied[number] == w->copier->turn)
		return 0;
	w->copier->copied[number] = w->copier->turn;
	memset(&x, 0, sizeof(x));
	x.number = (uint32_t)number;
	x.e = *e;
	inv_buf_put(w->out, &x, sizeof(x));
	w->head.n_entries++;
	w->head.names += e->len;
	if (number > w->head.highest)
		w->head.highest = (uint32_t)number;
	return 0;
}

/* Copies an entry. If it is a function, also copies the entries of its module
 * and its name. */
static int add_entry(struct work *w, uint64_t number)
{
	struct inv_dict_function f;
	int rc = add_one(w, number);

	if (rc || !inv_dict_function(w->dict, number, &f))
		return rc;
	rc = add_one(w, inv_dict_number(w->dict, f.module));
	return rc ? rc : add_one(w, inv_dict_number(w->dict, f.function));
}

/*
 * Copies the entry of a node. `printed' is the X of <X.1.0>; 0: the recording
 * node, which has no entry.
 */
static int add_node(struct work *w, uint64_t printed)
{
	const struct inv_dict_entry *e =
		printed ? inv_dict_node(w->dict, printed) : NULL;

	if (!e)
		return 0;
	return add_one(w, inv_dict_number(w->dict, e));
}

/* --- the codes of abi/term.h ---------------------------------------------- */

static const uint8_t *skip_bytes(const uint8_t *p, const uint8_t *end,
				 uint64_t n)
{
	return p && n <= (uint64_t)(end - p) ? p + n : NULL;
}

static const uint8_t *skip_varint(const uint8_t *p, const uint8_t *end)
{
	uint64_t v;

	return p ? inv_varint_get(p, end, &v) : NULL;
}

/* Skips a varint n and then n bytes. */
static const uint8_t *skip_sized(const uint8_t *p, const uint8_t *end)
{
	uint64_t n;

	p = p ? inv_varint_get(p, end, &n) : NULL;
	return p ? skip_bytes(p, end, n) : NULL;
}

static const uint8_t *skip_bits(const uint8_t *p, const uint8_t *end)
{
	uint64_t bits;

	p = inv_varint_get(p, end, &bits);
	return p ? skip_bytes(p, end, bits / 8 + (bits % 8 != 0)) : NULL;
}

/* Skips the two numbers that describe a missing part: its kind, and how much is
 * missing. */
static const uint8_t *skip_cut(const uint8_t *p, const uint8_t *end)
{
	return skip_varint(skip_bytes(p, end, 1), end);
}

/* Skips the numbers of a reference, after its node. */
static const uint8_t *skip_ref(const uint8_t *p, const uint8_t *end)
{
	uint64_t n;

	p = inv_varint_get(p, end, &n);
	for (; p && n; n--)
		p = skip_varint(p, end);
	return p;
}

/* Skips the bytes that follow the code byte `code', which is 0xc0 or higher and
 * does not refer to an entry of the dictionary. */
static const uint8_t *skip_plain(unsigned code, const uint8_t *p,
				 const uint8_t *end)
{
	switch (code) {
	case INV_T_NIL:
	case INV_T_LIST:
	case INV_T_TAIL:
	case INV_T_END:
	case INV_T_EXPORT: /* its three terms follow */
		return p;
	case INV_T_INT:
	case INV_T_TUPLE:
	case INV_T_MAP:
		return skip_varint(p, end);
	case INV_T_BIG:
		return skip_sized(skip_bytes(p, end, 1), end);
	case INV_T_FLOAT:
		return skip_bytes(p, end, 8);
	case INV_T_CUT:
	case INV_T_HOLE:
		return skip_cut(p, end);
	case INV_T_BINARY:
	case INV_T_STRING:
	case INV_T_TEXT:
		return skip_sized(p, end);
	case INV_T_BITS:
		return skip_bits(p, end);
	case INV_T_BINARY_CUT:
		return skip_sized(skip_varint(p, end), end);
	case INV_T_STRING_CUT:
		p = skip_sized(p, end);
		return p ? skip_cut(p, end) : NULL;
	default:
		return NULL;
	}
}

/*
 * Reads the bytes that follow the code byte `code', which is 0xc0 or higher. If
 * they refer to an entry of the dictionary, copies this entry. Sets *p to the
 * byte after them, or to NULL if they are invalid.
 */
static int coded(struct work *w, unsigned code, const uint8_t **p,
		 const uint8_t *end)
{
	uint64_t n;
	int rc = 0;

	if (code >= INV_T_APPLY_SMALL)
		return add_entry(w, code - INV_T_APPLY_SMALL);
	switch (code) {
	case INV_T_DICT:
	case INV_T_APPLY:
		*p = inv_varint_get(*p, end, &n);
		return *p ? add_entry(w, n) : INV_EDAMAGED;
	case INV_T_REF:
	case INV_T_XPID:
	case INV_T_XPORT:
		*p = inv_varint_get(*p, end, &n);
		if (*p)
			rc = add_node(w, n);
		if (*p && code == INV_T_REF)
			*p = skip_ref(*p, end);
		else if (*p)
			*p = skip_varint(*p, end);
		if (*p && code == INV_T_XPID)
			*p = skip_varint(*p, end);
		break;
	default:
		*p = skip_plain(code, *p, end);
		break;
	}
	return *p ? rc : INV_EDAMAGED;
}

static int add_entries(struct work *w, const uint8_t *p, const uint8_t *end)
{
	int rc = 0;

	while (!rc && p < end) {
		unsigned code = *p++;

		if (code < INV_T_DICT_SMALL)
			continue;
		if (code < INV_T_TUPLE_SMALL)
			rc = add_entry(w, code - INV_T_DICT_SMALL);
		else if (code < INV_T_BINARY_SMALL)
			continue;
		else if (code < INV_T_STRING_SMALL)
			p = skip_bytes(p, end, code - INV_T_BINARY_SMALL);
		else if (code < INV_T_NIL)
			p = skip_bytes(p, end, code - INV_T_STRING_SMALL + 1);
		else
			rc = coded(w, code, &p, end);
		if (!p)
			return INV_EDAMAGED;
	}
	return rc;
}

/* --- copying -------------------------------------------------------------- */

static void put_names(const struct work *w, size_t from)
{
	size_t n = w->head.n_entries * sizeof(struct entry);
	uint8_t *room = inv_buf_reserve(w->out, w->head.names);

	if (!room)
		return;
	for (size_t at = 0; at < n; at += sizeof(struct entry)) {
		struct entry x;

		memcpy(&x, w->out->data + from + at, sizeof(x));
		if (x.e.len)
			inv_buf_put(w->out, x.e.bytes, x.e.len);
	}
}

/* Begins a new copy. n is how many entries the dictionary has. */
static int begin_turn(struct inv_copier *c, uint32_t n)
{
	uint32_t *more;

	if (n > c->cap) {
		more = realloc(c->copied, n * sizeof(*more));
		if (!more)
			return INV_ENOMEM;
		memset(more + c->cap, 0, (n - c->cap) * sizeof(*more));
		c->copied = more;
		c->cap = n;
	}
	if (++c->turn == 0) {
		memset(c->copied, 0, c->cap * sizeof(*c->copied));
		c->turn = 1;
	}
	return 0;
}

int inv_copy_put(struct inv_copier *c, struct inv_buf *out,
		 const struct inv_dict *dict, const uint8_t *terms, size_t len)
{
	struct work w = { .copier = c, .out = out, .dict = dict };
	size_t begin = out->len;
	int rc = begin_turn(c, dict->n);

	if (rc)
		return rc;
	w.head.len = len;
	inv_buf_put(out, &w.head, sizeof(w.head));
	rc = add_entries(&w, terms, terms + len);
	put_names(&w, begin + sizeof(w.head));
	inv_buf_put(out, terms, len);
	if (out->error)
		rc = INV_ENOMEM;
	if (rc)
		out->len = begin;
	else
		memcpy(out->data + begin, &w.head, sizeof(w.head));
	return rc;
}

void inv_copier_release(struct inv_copier *c)
{
	free(c->copied);
	memset(c, 0, sizeof(*c));
}

int inv_copy_get(const uint8_t *copy, struct inv_dict *dict,
		 const uint8_t **terms, size_t *len)
{
	const uint8_t *names;
	struct head h;
	uint32_t n;

	memcpy(&h, copy, sizeof(h));
	copy += sizeof(h);
	names = copy + h.n_entries * sizeof(struct entry);
	*terms = names + h.names;
	*len = h.len;
	n = h.n_entries ? h.highest + 1 : 0;
	if (inv_dict_clear(dict, n))
		return INV_ENOMEM;
	for (uint32_t i = 0; i < h.n_entries; i++) {
		struct entry x;

		memcpy(&x, copy + i * sizeof(x), sizeof(x));
		x.e.bytes = names;
		names += x.e.len;
		if (inv_dict_set(dict, x.number, &x.e))
			return INV_ENOMEM;
	}
	inv_dict_sort(dict);
	return 0;
}
