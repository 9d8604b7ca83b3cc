/* SPDX-License-Identifier: Apache-2.0 */
#include "term/dict.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/varint.h"
#include "term/chars.h"

#define FIRST_CAP 64

void inv_dict_release(struct inv_dict *d)
{
	if (!d)
		return;
	free(d->entries);
	d->entries = NULL;
	d->n = d->cap = 0;
}

static struct inv_dict_entry *add_entry(struct inv_dict *d)
{
	struct inv_dict_entry *e = d->entries;
	uint32_t cap = d->cap ? d->cap : FIRST_CAP;

	if (d->n == d->cap) {
		/* Cannot overflow, because each entry needs at least two
		 * bytes. */
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

	/* at most 255 characters of at most four bytes each */
	if (len > 4 * 255 || !inv_utf8_valid(p, len))
		return false;
	e->bytes = p;
	e->len = (uint16_t)len;
	return true;
}

/* Parses one definition. Ignores bytes after the known fields. */
static bool parse_entry(struct inv_dict_entry *e, const uint8_t *p,
			const uint8_t *end)
{
	e->plain = 0;
	e->len = 0;
	e->bytes = NULL;
	e->number = e->serial = 0;
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
	default:
		/*
		 * The kind of a newer version. Terms that this version can read
		 * do not refer to this entry.
		 */
		return true;
	}
}

int inv_dict_parse(struct inv_dict *d, const uint8_t *p, size_t len,
		   struct inv_err *err)
{
	const uint8_t *begin = p, *end = p + len;

	d->n = 0;
	if (len > UINT32_MAX)
		return inv_err_set(err, INV_EDAMAGED, "dictionary of %zu bytes",
				   len);
	while (p < end) {
		struct inv_dict_entry *e;
		const uint8_t *at = p;
		uint64_t n;

		p = inv_varint_get(p + 1, end, &n);
		if (!p || n > (size_t)(end - p)) {
			d->n = 0;
			return inv_err_set(err, INV_EDAMAGED,
					   "definition at %zu: its length",
					   (size_t)(at - begin));
		}
		e = add_entry(d);
		if (!e) {
			d->n = 0;
			return inv_err_set(err, INV_ENOMEM,
					   "dictionary: no memory");
		}
		e->kind = *at;
		if (!parse_entry(e, p, p + n)) {
			d->n = 0;
			return inv_err_set(err, INV_EDAMAGED,
					   "definition at %zu, kind %u",
					   (size_t)(at - begin), *at);
		}
		p += n;
	}
	return 0;
}

int inv_dict_room(struct inv_dict *d, uint32_t n)
{
	struct inv_dict_entry *e = d->entries;

	d->n = 0;
	if (n > d->cap) {
		e = realloc(e, n * sizeof(*e));
		if (!e)
			return INV_ENOMEM;
		d->entries = e;
		d->cap = n;
	}
	if (n)
		memset(e, 0, n * sizeof(*e));
	d->n = n;
	return 0;
}

const struct inv_dict_entry *inv_dict_node(const struct inv_dict *d,
					   uint64_t printed)
{
	uint32_t i;

	for (i = 0; i < d->n; i++)
		if (d->entries[i].kind == INV_DEF_NODE &&
		    d->entries[i].number == printed)
			return &d->entries[i];
	return NULL;
}
