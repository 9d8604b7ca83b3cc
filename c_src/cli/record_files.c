/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "match/match.h"

#define MAX_FILE ((size_t)64 << 20)
#define MAX_FORMS ((uint64_t)256 << 20)
/* Words of memory for the forms of a module. */
#define HEAP_WORDS (UINT64_C(1) << 24)

static int read_file(const char *path, struct inv_buf *b, struct inv_err *err)
{
	FILE *f = fopen(path, "re");
	size_t n = 1;
	uint8_t *w;
	int rc;

	if (!f)
		return inv_err_sys(err, errno, "--records: open %s", path);
	while (n > 0 && b->len < MAX_FILE) {
		w = inv_buf_reserve(b, 65536);
		n = w ? fread(w, 1, 65536, f) : 0;
		inv_buf_commit(b, n);
	}
	rc = ferror(f) ? inv_err_sys(err, errno, "--records: read %s", path) :
			 0;
	fclose(f);
	inv_buf_putc(b, 0);
	return !rc && b->error ? inv_err_set(err, INV_ENOMEM, "no memory") : rc;
}

/* --- beam files ----------------------------------------------------------- */

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* Returns a chunk of a beam file, or NULL if the file does not have it. */
static const uint8_t *chunk(const struct inv_buf *b, const char *id,
			    size_t *size)
{
	size_t len = b->len - 1; /* without the NUL */
	size_t at = 12;

	while (len - at >= 8 && at <= len) {
		uint32_t n = get32(b->data + at + 4);

		if (n > len - at - 8)
			return NULL;
		if (!memcmp(b->data + at, id, 4)) {
			*size = n;
			return b->data + at + 8;
		}
		at += 8 + (((size_t)n + 3) & ~(size_t)3);
		if (at > len)
			return NULL;
	}
	return NULL;
}

/* Returns the term of a chunk, decompressed, without its version byte. */
static int term_bytes(const uint8_t *p, size_t n, struct inv_buf *out)
{
	uLongf size;
	uint8_t *w;

	if (n < 2 || p[0] != 131)
		return INV_EFORMAT;
	if (p[1] != 80) { /* not compressed */
		inv_buf_put(out, p + 1, n - 1);
		return out->error;
	}
	if (n < 6 || get32(p + 2) > MAX_FORMS)
		return INV_EFORMAT;
	size = get32(p + 2);
	w = inv_buf_reserve(out, size);
	if (!w)
		return INV_ENOMEM;
	if (uncompress(w, &size, p + 6, n - 6) != Z_OK)
		return INV_EFORMAT;
	inv_buf_commit(out, size);
	return 0;
}

static const inv_word *tuple(inv_word t, size_t n)
{
	const inv_word *b = inv_box_of(t, INV_BOX_TUPLE);

	return b && inv_box_n(b) == n ? b : NULL;
}

/* Returns the list of forms in a chunk's term, or INV_NIL if there are none. */
static inv_word forms_in(inv_word t)
{
	const inv_word *b = tuple(t, 3), *pair;

	if (b && inv_word_is(b[1], "debug_info_v1") &&
	    inv_word_is(b[2], "erl_abstract_code")) {
		pair = tuple(b[3], 2);
		return pair && inv_is_cons(pair[1]) ? pair[1] : INV_NIL;
	}
	b = tuple(t, 2);
	return b && inv_word_is(b[1], "raw_abstract_v1") && inv_is_cons(b[2]) ?
		       b[2] :
		       INV_NIL;
}

/* Adds {record_field, _, {atom, _, Name}}, with or without a default. */
static int add_field(struct inv_record_def *r, inv_word t)
{
	const inv_word *b = tuple(t, 3), *name;
	struct inv_record_field *f;
	bool has_default;

	if (b && inv_word_is(b[1], "typed_record_field")) {
		t = b[2];
		b = tuple(t, 3);
	}
	has_default = !b;
	if (!b)
		b = tuple(t, 4);
	name = b ? tuple(b[3], 3) : NULL;
	name = name ? inv_box_of(name[3], INV_BOX_ATOM) : NULL;
	if (!name)
		return INV_EFORMAT;
	f = inv_record_add_field(r, inv_box_ptr(name, 1), inv_box_n(name));
	if (!f)
		return INV_ENOMEM;
	f->has_default = has_default;
	return 0;
}

/* Adds the record of {attribute, _, record, {Name, Fields}}. */
static int add_record(struct inv_records *rs, const char *module,
		      const inv_word *form)
{
	const inv_word *b = tuple(form[4], 2), *name;
	struct inv_record_def *r;
	int rc = 0;

	name = b ? inv_box_of(b[1], INV_BOX_ATOM) : NULL;
	if (!name)
		return INV_EFORMAT;
	r = inv_records_add(rs, module, inv_box_ptr(name, 1), inv_box_n(name));
	if (!r)
		return INV_ENOMEM;
	for (inv_word l = b[2]; !rc && inv_is_cons(l); l = inv_cons(l)[1])
		rc = add_field(r, inv_cons(l)[0]);
	return rc;
}

static int add_forms(struct inv_records *rs, inv_word forms)
{
	char module[1024] = "";
	int rc = 0;

	for (; !rc && inv_is_cons(forms); forms = inv_cons(forms)[1]) {
		const inv_word *b = tuple(inv_cons(forms)[0], 4), *name;

		if (!b || !inv_word_is(b[1], "attribute"))
			continue;
		name = inv_box_of(b[4], INV_BOX_ATOM);
		if (inv_word_is(b[3], "module") && name)
			snprintf(module, sizeof(module), "%.*s",
				 (int)inv_box_n(name),
				 (const char *)inv_box_ptr(name, 1));
		else if (inv_word_is(b[3], "record"))
			rc = add_record(rs, module, b);
	}
	return rc;
}

/* Adds the records that a chunk of a BEAM file defines. */
static int add_chunk(struct inv_records *rs, const uint8_t *p, size_t n)
{
	struct inv_cursor *c = malloc(sizeof(*c));
	struct inv_heap heap = { .w = NULL };
	struct inv_buf bytes = { 0 };
	inv_word t = 0;
	int rc = term_bytes(p, n, &bytes);

	if (!rc && (!c || inv_heap_new(&heap, HEAP_WORDS)))
		rc = INV_ENOMEM;
	if (!rc) {
		inv_cursor_init(c, INV_ENC_ETF, NULL, bytes.data, bytes.len);
		rc = inv_tree_read(&heap, c, &t);
	}
	if (!rc && forms_in(t) == INV_NIL)
		rc = INV_ENOTHING;
	if (!rc)
		rc = add_forms(rs, forms_in(t));
	inv_heap_free(&heap);
	inv_buf_release(&bytes);
	free(c);
	return rc;
}

static int add_beam(struct inv_records *rs, const struct inv_buf *b)
{
	size_t n;
	const uint8_t *p = chunk(b, "Dbgi", &n);

	if (!p)
		p = chunk(b, "Abst", &n);
	return p && n ? add_chunk(rs, p, n) : INV_ENOTHING;
}

/* --- any file ------------------------------------------------------------- */

static int add(struct inv_records *rs, const char *path,
	       const struct inv_buf *b, struct inv_err *err)
{
	int rc;

	if (b->len > 12 && !memcmp(b->data, "FOR1", 4) &&
	    !memcmp(b->data + 8, "BEAM", 4)) {
		rc = add_beam(rs, b);
		if (rc == INV_ENOTHING)
			return inv_err_set(err, INV_EINVAL,
					   "--records %s: it has no debug "
					   "information of Erlang: give the "
					   ".hrl or .erl file",
					   path);
		if (rc == INV_ENOMEM)
			return inv_err_set(err, rc, "no memory");
		return rc ? inv_err_set(err, INV_EFORMAT,
					"--records %s: its debug information "
					"cannot be read",
					path) :
			    0;
	}
	if (memchr(b->data, 0, b->len - 1))
		return inv_err_set(err, INV_EFORMAT,
				   "--records %s: neither a .hrl or .erl file "
				   "nor a .beam file",
				   path);
	rc = inv_records_parse(rs, (const char *)b->data, err);
	return rc == INV_EINVAL ? inv_err_ctx(err, "--records %s", path) : rc;
}

int inv_record_file_load(struct inv_records *rs, const char *path,
			 struct inv_err *err)
{
	const struct inv_record_def *before = rs->first;
	struct inv_buf b = { 0 };
	int rc = read_file(path, &b, err);

	if (!rc && b.data)
		rc = add(rs, path, &b, err);
	if (!rc && rs->first == before)
		rc = inv_err_set(err, INV_EINVAL,
				 "--records %s: it defines no record", path);
	inv_buf_release(&b);
	return rc;
}
