/* SPDX-License-Identifier: Apache-2.0 */
#include "term/dict.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/varint.h"
#include "term/chars.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRST_CAP 64

void inv_dict_release(struct inv_dict *d)
{
	if (!d)
		return;
	free(d->entries);
	free(d->nodes);
	free(d->set);
	memset(d, 0, sizeof(*d));
}

/* Appends x to the array *v, which has *n elements and space for *cap. */
static int append(uint32_t **v, uint32_t *n, uint32_t *cap, uint32_t x)
{
	uint32_t more = *cap ? 2 * *cap : FIRST_CAP;
	uint32_t *p = *v;

	if (*n == *cap) {
		p = realloc(p, more * sizeof(*p));
		if (!p)
			return INV_ENOMEM;
		*v = p;
		*cap = more;
	}
	p[(*n)++] = x;
	return 0;
}

static int by_number(const void *a, const void *b, void *arg)
{
	const struct inv_dict *d = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = d->entries[i].number, y = d->entries[k].number;

	return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

static struct inv_dict_entry *add_entry(struct inv_dict *d)
{
	struct inv_dict_entry *e = d->entries;
	uint32_t cap = d->cap ? d->cap : FIRST_CAP;

	if (d->n == d->cap) {
		/* `cap' cannot overflow: it is at most twice the number of
		 * entries, each of which was parsed from at least two bytes. */
		while (cap <= d->n)
			cap *= 2;
		e = realloc(e, cap * sizeof(*e));
		if (!e)
			return NULL;
		d->entries = e;
		d->cap = cap;
	}
	return &e[d->n++];
}

static const uint8_t *get_two(const uint8_t *p, const uint8_t *end, uint64_t *a,
			      uint64_t *b)
{
	p = inv_varint_get(p, end, a);
	return p ? inv_varint_get(p, end, b) : NULL;
}

static bool parse_name(struct inv_dict_entry *e, const uint8_t *p,
		       const uint8_t *end)
{
	size_t len = (size_t)(end - p);

	/* An atom has at most 255 characters, each of at most four bytes. */
	if (len > 4 * 255 || !inv_utf8_valid(p, len))
		return false;
	e->bytes = p;
	e->len = (uint16_t)len;
	return true;
}

static bool parse_function(struct inv_dict_entry *e, const uint8_t *p,
			   const uint8_t *end)
{
	uint64_t arity;

	p = get_two(p, end, &e->number, &e->serial);
	if (!p || !inv_varint_get(p, end, &arity) || arity > 255)
		return false;
	e->arity = (uint8_t)arity;
	return true;
}

/* Parses one definition. Ignores bytes after the known fields. */
static bool parse_entry(struct inv_dict_entry *e, const uint8_t *p,
			const uint8_t *end)
{
	e->plain = 0;
	e->arity = 0;
	e->len = 0;
	e->bytes = NULL;
	e->number = e->serial = e->hash = 0;
	switch (e->kind) {
	case INV_DEF_ATOM:
		if (!parse_name(e, p, end))
			return false;
		e->plain = inv_atom_is_plain(e->bytes, e->len);
		return true;
	case INV_DEF_PID:
		return get_two(p, end, &e->number, &e->serial) != NULL;
	case INV_DEF_PORT:
		return inv_varint_get(p, end, &e->number) != NULL;
	case INV_DEF_NODE:
		p = get_two(p, end, &e->number, &e->serial);
		return p && parse_name(e, p, end);
	case INV_DEF_FUNCTION:
		return parse_function(e, p, end);
	default:
		/*
		 * A kind that only newer versions know. It is ignored: terms
		 * that this version can read do not refer to such an entry.
		 */
		return true;
	}
}

void inv_dict_sort(struct inv_dict *d)
{
	if (d->n_nodes > 1)
		qsort_r(d->nodes, d->n_nodes, sizeof(*d->nodes), by_number, d);
}

static uint64_t hash(uint64_t module, uint64_t function, uint32_t arity)
{
	const uint64_t v[] = { module, function, arity };
	uint64_t h = XXH3_64bits(v, sizeof(v));

	return h ? h : 1;
}

uint64_t inv_function_hash(const uint8_t *module, size_t module_len,
			   const uint8_t *function, size_t function_len,
			   uint32_t arity)
{
	return hash(XXH3_64bits(module, module_len),
		    XXH3_64bits(function, function_len), arity);
}

/* Returns the hash of an atom's name. Stores it in the atom's entry, so that
 * the name is hashed only once, even if many functions have this atom. */
static uint64_t name_hash(const struct inv_dict *d, uint64_t number)
{
	struct inv_dict_entry *e = &d->entries[d->n - 1 - number];

	if (!e->hash)
		e->hash = XXH3_64bits(e->bytes, e->len);
	return e->hash;
}

/* Sets the hashes of all functions. parse_entry cannot do this, because in the
 * packet's memory the atoms of a function come after the function. */
static void hash_functions(struct inv_dict *d)
{
	struct inv_dict_function f;

	for (uint32_t i = 0; i < d->n; i++) {
		struct inv_dict_entry *e = &d->entries[i];

		if (inv_dict_function(d, d->n - 1 - i, &f))
			e->hash = hash(name_hash(d, e->number),
				       name_hash(d, e->serial), f.arity);
	}
}

int inv_dict_parse(struct inv_dict *d, const uint8_t *p, size_t len,
		   struct inv_err *err)
{
	const uint8_t *begin = p, *end = p + len;

	d->n = d->n_nodes = 0;
	if (len > UINT32_MAX)
		return inv_err_set(err, INV_EDAMAGED, "dictionary of %zu bytes",
				   len);
	while (p < end) {
		struct inv_dict_entry *e;
		const uint8_t *at = p;
		uint64_t n;

		p = inv_varint_get(p + 1, end, &n);
		if (!p || n > (size_t)(end - p)) {
			d->n = d->n_nodes = 0;
			return inv_err_set(err, INV_EDAMAGED,
					   "definition at %zu: its length",
					   (size_t)(at - begin));
		}
		e = add_entry(d);
		if (!e ||
		    (*at == INV_DEF_NODE &&
		     append(&d->nodes, &d->n_nodes, &d->cap_nodes, d->n - 1))) {
			d->n = d->n_nodes = 0;
			return inv_err_set(err, INV_ENOMEM,
					   "dictionary: no memory");
		}
		e->kind = *at;
		if (!parse_entry(e, p, p + n)) {
			d->n = d->n_nodes = 0;
			return inv_err_set(err, INV_EDAMAGED,
					   "definition at %zu, kind %u",
					   (size_t)(at - begin), *at);
		}
		p += n;
	}
	inv_dict_sort(d);
	hash_functions(d);
	return 0;
}

int inv_dict_clear(struct inv_dict *d, uint32_t n)
{
	struct inv_dict_entry *e = d->entries;

	for (uint32_t i = 0; i < d->n_set; i++)
		memset(&e[d->n - 1 - d->set[i]], 0, sizeof(*e));
	d->n_set = d->n_nodes = 0;
	if (n <= d->n)
		return 0;
	if (n < 2 * d->n)
		n = 2 * d->n;
	e = realloc(e, n * sizeof(*e));
	if (!e)
		return INV_ENOMEM;
	memset(e, 0, n * sizeof(*e));
	d->entries = e;
	d->n = d->cap = n;
	return 0;
}

int inv_dict_set(struct inv_dict *d, uint32_t number,
		 const struct inv_dict_entry *e)
{
	uint32_t at = d->n - 1 - number;

	if (append(&d->set, &d->n_set, &d->cap_set, number) ||
	    (e->kind == INV_DEF_NODE &&
	     append(&d->nodes, &d->n_nodes, &d->cap_nodes, at)))
		return INV_ENOMEM;
	d->entries[at] = *e;
	return 0;
}

const struct inv_dict_entry *inv_dict_node(const struct inv_dict *d,
					   uint64_t printed)
{
	uint32_t from = 0, to = d->n_nodes;

	while (from < to) {
		uint32_t at = from + (to - from) / 2;

		if (d->entries[d->nodes[at]].number < printed)
			from = at + 1;
		else
			to = at;
	}
	if (from == d->n_nodes || d->entries[d->nodes[from]].number != printed)
		return NULL;
	return &d->entries[d->nodes[from]];
}
