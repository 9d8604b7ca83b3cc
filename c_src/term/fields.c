/* SPDX-License-Identifier: Apache-2.0 */
#include "term/fields.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "term/print.h"

struct inv_fields_def {
	struct inv_fields_def *next;
	uint32_t n; /* how many fields the record has */
	uint16_t module_len;
	uint16_t name_len;
	size_t text_len;
	/* Offset of field i in the text; at[n] is the length of the text. */
	uint32_t *at;
	uint8_t *text; /* the names of all fields, as they are printed, without
			* separators */
	uint8_t *module;
	uint8_t *name;
};

void inv_fields_release(struct inv_fields *f)
{
	for (unsigned i = 0; i < INV_FIELDS_BUCKETS; i++) {
		struct inv_fields_def *d = f->bucket[i];

		while (d) {
			struct inv_fields_def *next = d->next;

			inv_free(d);
			d = next;
		}
	}
	memset(f, 0, sizeof(*f));
}

static unsigned bucket_of(const uint8_t *name, size_t len, uint32_t n)
{
	uint32_t h = 2166136261u ^ n;

	for (size_t i = 0; i < len; i++)
		h = (h ^ name[i]) * 16777619u;
	return (h ^ h >> 8 ^ h >> 16) % INV_FIELDS_BUCKETS;
}

/* Appends the names of the n fields as they are printed, and sets their offsets
 * in `at'. A name is in quotes if at least one OTP release quotes it. */
static int print_names(struct inv_buf *text, uint32_t *at, uint32_t n,
		       const uint8_t *p, size_t len)
{
	const struct inv_print_opts opts = { .unicode = true, .otp = 29 };
	const uint8_t *end = p + len;

	for (uint32_t i = 0; i < n; i++) {
		if (p == end || (size_t)(end - p - 1) < *p)
			return INV_EDAMAGED;
		at[i] = (uint32_t)text->len;
		inv_term_print_atom(p + 1, *p, text, &opts);
		p += 1 + *p;
	}
	at[n] = (uint32_t)text->len;
	return text->error;
}

static struct inv_fields_def *make(const uint8_t *module, size_t module_len,
				   const uint8_t *name, size_t name_len,
				   uint32_t n, const struct inv_buf *text,
				   const uint32_t *at)
{
	struct inv_fields_def *d =
		inv_alloc(sizeof(*d) + (n + 1) * sizeof(*at) + text->len +
			  module_len + name_len);

	if (!d)
		return NULL;
	*d = (struct inv_fields_def){
		.n = n,
		.module_len = (uint16_t)module_len,
		.name_len = (uint16_t)name_len,
		.text_len = text->len,
		.at = (uint32_t *)(d + 1),
	};
	memcpy(d->at, at, (n + 1) * sizeof(*at));
	d->text = (uint8_t *)(d->at + n + 1);
	d->module = d->text + text->len;
	d->name = d->module + module_len;
	if (text->len)
		memcpy(d->text, text->data, text->len);
	if (module_len)
		memcpy(d->module, module, module_len);
	memcpy(d->name, name, name_len);
	return d;
}

static bool is_named(const struct inv_fields_def *d, const uint8_t *name,
		     size_t len, uint32_t n)
{
	return d->n == n && d->name_len == len && !memcmp(d->name, name, len);
}

static bool is_of(const struct inv_fields_def *d, const uint8_t *module,
		  size_t len)
{
	return d->module_len == len &&
	       (!len || !memcmp(d->module, module, len));
}

static size_t size_of(const struct inv_fields_def *d)
{
	return sizeof(*d) + (d->n + 1) * sizeof(*d->at) + d->text_len +
	       d->module_len + d->name_len;
}

/* Inserts the definition d. Removes the definition that d replaces, if there is
 * one. */
static void insert(struct inv_fields *f, struct inv_fields_def *d)
{
	struct inv_fields_def **at =
		&f->bucket[bucket_of(d->name, d->name_len, d->n)];
	struct inv_fields_def **head = at, *old;

	for (; (old = *at) != NULL; at = &old->next)
		if (is_named(old, d->name, d->name_len, d->n) &&
		    is_of(old, d->module, d->module_len)) {
			*at = old->next;
			f->size -= size_of(old);
			inv_free(old);
			break;
		}
	d->next = *head;
	*head = d;
	f->size += size_of(d);
	f->maybe |= UINT64_C(1) << ((d->name[0] * 7u + d->name_len) & 63);
}

/* NOLINTNEXTLINE(readability-function-size): each of three texts has a length */
int inv_fields_add(struct inv_fields *f, const uint8_t *module,
		   size_t module_len, const uint8_t *name, size_t name_len,
		   uint32_t n, const uint8_t *names, size_t names_len)
{
	struct inv_fields_def *d = NULL;
	struct inv_buf text = { 0 };
	uint32_t *at;
	int rc;

	/* A record without fields is printed like a tuple. */
	if (!n || !name_len || name_len > UINT16_MAX ||
	    module_len > UINT16_MAX || n > names_len ||
	    f->size > INV_FIELDS_MEMORY)
		return 0;
	at = inv_alloc((n + (size_t)1) * sizeof(*at));
	rc = at ? print_names(&text, at, n, names, names_len) : INV_ENOMEM;
	if (!rc) {
		d = make(module, module_len, name, name_len, n, &text, at);
		rc = d ? 0 : INV_ENOMEM;
	}
	if (d)
		insert(f, d);
	inv_buf_release(&text);
	inv_free(at);
	return rc == INV_EDAMAGED ? 0 : rc;
}

/* --- notes ---------------------------------------------------------------- */

static bool next_atom(struct inv_cursor *c, struct inv_token *tok)
{
	return !inv_cursor_next(c, tok) && tok->kind == INV_TOK_ATOM;
}

/* Reads a list of atoms. Returns false if it is incomplete, or not a list of
 * atoms. */
static bool read_names(struct inv_cursor *c, struct inv_buf *b, uint32_t *n)
{
	struct inv_token tok;

	*n = 0;
	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_LIST)
		return false;
	while (next_atom(c, &tok) && tok.len <= UINT8_MAX) {
		inv_buf_putc(b, (char)tok.len);
		inv_buf_put(b, tok.bytes, tok.len);
		++*n;
	}
	return tok.kind == INV_TOK_END;
}

int inv_fields_read(struct inv_fields *f, struct inv_cursor *c)
{
	struct inv_buf b = { 0 }; /* the names of module, record and fields */
	size_t module_len, name_len;
	struct inv_token tok;
	uint32_t n;
	int rc = 0;

	if (inv_cursor_next(c, &tok) ||
	    (tok.kind != INV_TOK_ATOM && tok.kind != INV_TOK_NIL))
		return 0;
	module_len = tok.kind == INV_TOK_ATOM ? tok.len : 0;
	inv_buf_put(&b, tok.bytes, module_len);
	if (next_atom(c, &tok)) {
		name_len = tok.len;
		inv_buf_put(&b, tok.bytes, name_len);
		if (read_names(c, &b, &n) && !b.error)
			rc = inv_fields_add(f, b.data, module_len,
					    b.data + module_len, name_len, n,
					    b.data + module_len + name_len,
					    b.len - module_len - name_len);
	}
	rc = b.error ? b.error : rc;
	inv_buf_release(&b);
	return rc;
}

/* --- finding -------------------------------------------------------------- */

static bool alike(const struct inv_fields_def *a,
		  const struct inv_fields_def *b)
{
	return a->text_len == b->text_len &&
	       !memcmp(a->text, b->text, a->text_len) &&
	       !memcmp(a->at, b->at, (a->n + 1) * sizeof(*a->at));
}

const struct inv_fields_def *inv_fields_find(const struct inv_fields *f,
					     const uint8_t *module,
					     size_t module_len,
					     const uint8_t *tag, size_t len,
					     uint32_t arity)
{
	const struct inv_fields_def *d, *any = NULL, *some = NULL;
	bool differ = false;

	if (arity < 2)
		return NULL;
	for (d = f->bucket[bucket_of(tag, len, arity - 1)]; d; d = d->next) {
		if (!is_named(d, tag, len, arity - 1))
			continue;
		if (module_len && is_of(d, module, module_len))
			return d;
		if (!d->module_len)
			any = d;
		differ |= some && !alike(some, d);
		some = d;
	}
	return any ? any : differ ? NULL : some;
}

const uint8_t *inv_fields_name(const struct inv_fields_def *def, uint32_t i,
			       size_t *len)
{
	*len = def->at[i + 1] - def->at[i];
	return def->text + def->at[i];
}
