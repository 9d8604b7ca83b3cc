/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/column.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/utf8.h"
#include "parquet/encode.h"
#include "parquet/thrift.h"

/* Level 1 is the fastest level of zstd that finds repeated terms. */
#define LEVEL 1

void inv_parquet_column_release(struct inv_parquet_column *c)
{
	inv_buf_release(&c->values);
	inv_buf_release(&c->dictionary);
	free(c->levels);
	free(c->slots);
	c->levels = NULL;
	c->slots = NULL;
	c->n_slots = 0;
	c->cap_rows = 0;
	c->rows = c->nulls = c->n = 0;
	c->n_dictionary = 0;
}

/* --- values --------------------------------------------------------------- */

/* Makes room for n more rows. A row's definition level is 1, or 0 for NULL. */
static int more_levels(struct inv_parquet_column *c, size_t n)
{
	size_t cap = c->cap_rows ? c->cap_rows * 2 : 256;
	uint32_t *more;

	if (n <= c->cap_rows - c->rows)
		return 0;
	if (cap < c->rows + n)
		cap = c->rows + n;
	more = realloc(c->levels, cap * sizeof(*more));
	if (!more)
		return INV_ENOMEM;
	c->levels = more;
	c->cap_rows = cap;
	return 0;
}

/* Adds the definition levels of n rows, for which more_levels has made room. */
static void add_levels(struct inv_parquet_column *c, const uint32_t *levels,
		       size_t n)
{
	memcpy(c->levels + c->rows, levels, n * sizeof(*levels));
	c->rows += n;
}

static void fill(uint32_t *to, uint32_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = v;
}

/* Adds the same definition level for n rows. */
static int add_level(struct inv_parquet_column *c, uint32_t level, size_t n)
{
	if (more_levels(c, n))
		return INV_ENOMEM;
	fill(c->levels + c->rows, level, n);
	c->rows += n;
	return 0;
}

int inv_parquet_column_nulls(struct inv_parquet_column *c, size_t n)
{
	c->nulls += n;
	return add_level(c, 0, n);
}

/* Copies the values that are not NULL. Returns their number. */
static size_t get_values(int64_t *to, const int64_t *v, const uint32_t *levels,
			 size_t n)
{
	size_t k = 0;

	if (!levels) {
		memcpy(to, v, n * sizeof(*v));
		return n;
	}
	for (size_t i = 0; i < n; i++) {
		to[k] = v[i];
		k += levels[i];
	}
	return k;
}

static size_t get_bools(uint32_t *to, const int64_t *v, const uint32_t *levels,
			size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		to[k] = v[i] != 0;
		k += levels ? levels[i] : 1;
	}
	return k;
}

/* Notes the lowest and the highest of n new values. */
static void note_bounds(struct inv_parquet_column *c, const int64_t *v,
			size_t n)
{
	int64_t least = c->n ? c->least : INT64_MAX;
	int64_t most = c->n ? c->most : INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		least = v[i] < least ? v[i] : least;
		most = v[i] > most ? v[i] : most;
	}
	c->least = least;
	c->most = most;
}

int inv_parquet_column_ints(struct inv_parquet_column *c, const int64_t *v,
			    const uint32_t *levels, size_t n)
{
	void *to = inv_buf_reserve(&c->values, n * sizeof(*v));
	size_t k;

	if (!to || more_levels(c, n))
		return INV_ENOMEM;
	if (c->kind == INV_PARQUET_BOOL) {
		k = get_bools(to, v, levels, n);
		inv_buf_commit(&c->values, k * sizeof(uint32_t));
	} else {
		k = get_values(to, v, levels, n);
		note_bounds(c, to, k);
		inv_buf_commit(&c->values, k * sizeof(*v));
	}
	if (levels)
		add_levels(c, levels, n);
	else
		(void)add_level(c, 1, n);
	c->n += k;
	c->nulls += n - k;
	return 0;
}

static void put_text(struct inv_buf *b, const uint8_t *p, size_t len)
{
	uint32_t n = (uint32_t)len;
	size_t begin = b->len;

	inv_buf_put(b, &n, sizeof(n));
	if (inv_utf8_valid(p, len)) {
		inv_buf_put(b, p, len);
		return;
	}
	inv_utf8_repair(p, len, b);
	if (b->error)
		return;
	n = (uint32_t)(b->len - begin - sizeof(n));
	memcpy(b->data + begin, &n, sizeof(n));
}

int inv_parquet_column_text(struct inv_parquet_column *c, const uint8_t *p,
			    size_t len)
{
	c->n++;
	put_text(&c->values, p, len);
	return c->values.error ? c->values.error : add_level(c, 1, 1);
}

/* Adds a text to the dictionary. */
static void define(struct inv_parquet_column *c, const struct inv_cast *cast,
		   uint32_t number)
{
	struct inv_buf pid = { 0 };
	const uint8_t *text;
	size_t len;

	if (c->kind == INV_PARQUET_WORD) {
		text = inv_words_text(&cast->words, number, &len);
		put_text(&c->dictionary, text, len);
		return;
	}
	inv_row_process_pid(&cast->v[number - 1], &pid);
	if (pid.error)
		c->dictionary.error = pid.error;
	else
		put_text(&c->dictionary, pid.data, pid.len);
	inv_buf_release(&pid);
}

/* Returns the slot of a word's or process's number, or the free slot in which
 * the number must be stored. */
static struct inv_parquet_slot *slot_of(const struct inv_parquet_column *c,
					uint32_t number)
{
	uint32_t i = number * 2654435769u >> 8;

	for (;; i++) {
		struct inv_parquet_slot *slot = &c->slots[i & (c->n_slots - 1)];

		if (slot->number == number || !slot->number)
			return slot;
	}
}

static int grow_slots(struct inv_parquet_column *c)
{
	struct inv_parquet_slot *old = c->slots;
	uint32_t n = c->n_slots;

	c->slots = calloc(n ? n * 2 : 64, sizeof(*c->slots));
	if (!c->slots) {
		c->slots = old;
		return INV_ENOMEM;
	}
	c->n_slots = n ? n * 2 : 64;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].number)
			*slot_of(c, old[i].number) = old[i];
	free(old);
	return 0;
}

/* Returns the dictionary's index of the text that has this number (in inv_words
 * or inv_cast). Adds the text if it is new. Returns UINT32_MAX if memory is
 * exhausted. */
static uint32_t index_of(struct inv_parquet_column *c,
			 const struct inv_cast *cast, uint32_t number)
{
	struct inv_parquet_slot *slot;

	if (c->n_dictionary * 2 >= c->n_slots && grow_slots(c))
		return UINT32_MAX;
	slot = slot_of(c, number);
	if (!slot->number) {
		define(c, cast, number);
		slot->number = number;
		slot->index = c->n_dictionary++;
	}
	return c->dictionary.error ? UINT32_MAX : slot->index;
}

int inv_parquet_column_numbers(struct inv_parquet_column *c,
			       const struct inv_cast *cast,
			       const uint32_t *numbers, size_t n)
{
	uint32_t *to = (uint32_t *)(void *)inv_buf_reserve(&c->values,
							   n * sizeof(*to));
	uint32_t *levels, index;
	size_t k = 0, run;

	if (!to || more_levels(c, n))
		return INV_ENOMEM;
	levels = c->levels + c->rows;
	/* Rows that follow each other often have the same text, so look up each
	 * run of equal numbers only once. */
	for (size_t i = 0; i < n; i += run) {
		run = 1;
		while (i + run < n && numbers[i + run] == numbers[i])
			run++;
		fill(levels + i, numbers[i] != 0, run);
		if (!numbers[i])
			continue;
		index = index_of(c, cast, numbers[i]);
		if (index == UINT32_MAX)
			return INV_ENOMEM;
		fill(to + k, index, run);
		k += run;
	}
	inv_buf_commit(&c->values, k * sizeof(*to));
	c->rows += n;
	c->n += k;
	c->nulls += n - k;
	return 0;
}

size_t inv_parquet_column_size(const struct inv_parquet_column *c)
{
	return c->values.cap + c->dictionary.cap +
	       c->cap_rows * sizeof(*c->levels) +
	       c->n_slots * sizeof(*c->slots);
}

/* --- pages ---------------------------------------------------------------- */

static void page_head(struct inv_buf *out, bool dictionary, size_t plain,
		      size_t size, size_t values, int encoding)
{
	struct inv_thrift t = { .out = out };

	inv_thrift_i32(&t, 1, dictionary ? 2 : 0);
	inv_thrift_i32(&t, 2, (int32_t)plain);
	inv_thrift_i32(&t, 3, (int32_t)size);
	inv_thrift_struct(&t, dictionary ? 7 : 5);
	inv_thrift_i32(&t, 1, (int32_t)values);
	inv_thrift_i32(&t, 2, encoding);
	if (!dictionary) {
		inv_thrift_i32(&t, 3, INV_PARQUET_RLE);
		inv_thrift_i32(&t, 4, INV_PARQUET_RLE);
	}
	inv_thrift_end(&t);
	inv_thrift_end(&t);
}

/* Appends a page with the bytes of `plain'. */
static int put_page(struct inv_buf *out, const struct inv_buf *plain,
		    bool dictionary, size_t values, int encoding, void *zstd,
		    struct inv_parquet_chunk *chunk)
{
	struct inv_buf packed = { 0 };
	size_t bound = ZSTD_compressBound(plain->len), n, begin;
	uint8_t *w = inv_buf_reserve(&packed, bound);

	if (!w || plain->error)
		return INV_ENOMEM;
	n = ZSTD_compressCCtx(zstd, w, bound, plain->data, plain->len, LEVEL);
	if (ZSTD_isError(n)) {
		inv_buf_release(&packed);
		return INV_ENOMEM;
	}
	begin = out->len;
	page_head(out, dictionary, plain->len, n, values, encoding);
	chunk->plain_size += (int64_t)(out->len - begin + plain->len);
	inv_buf_put(out, w, n);
	inv_buf_release(&packed);
	return out->error;
}

static void put_bools(struct inv_parquet_column *c, struct inv_buf *b)
{
	const uint32_t *v = (const uint32_t *)(const void *)c->values.data;

	for (size_t i = 0; i < c->n; i += 8) {
		unsigned byte = 0;

		for (size_t k = 0; k < 8 && i + k < c->n; k++)
			byte |= (v[i + k] & 1) << k;
		inv_buf_putc(b, (char)byte);
	}
}

static int put_values(struct inv_parquet_column *c, struct inv_buf *b)
{
	const void *v = c->values.data;
	unsigned bits;

	switch (c->kind) {
	case INV_PARQUET_INT:
	case INV_PARQUET_TIME:
		inv_encode_delta(b, v, c->n);
		return INV_PARQUET_DELTA;
	case INV_PARQUET_BOOL:
		put_bools(c, b);
		return INV_PARQUET_PLAIN;
	case INV_PARQUET_TEXT:
		inv_buf_put(b, v, c->values.len);
		return INV_PARQUET_PLAIN;
	default:
		/* If the dictionary is empty, the column has no values. */
		bits = inv_encode_bits(c->n_dictionary ? c->n_dictionary - 1 :
							 0);
		inv_buf_putc(b, (char)bits);
		inv_encode_rle(b, v, c->n, bits);
		return INV_PARQUET_DICTIONARY;
	}
}

/* Appends the length of the definition levels, and then the levels. */
static void put_levels(struct inv_parquet_column *c, struct inv_buf *b)
{
	size_t begin = b->len;
	uint32_t n = 0;

	inv_buf_put(b, &n, sizeof(n));
	if (c->rows && (!c->n || !c->nulls))
		inv_encode_run(b, !c->nulls, c->rows, 1);
	else
		inv_encode_rle(b, c->levels, c->rows, 1);
	if (b->error)
		return;
	n = (uint32_t)(b->len - begin - sizeof(n));
	memcpy(b->data + begin, &n, sizeof(n));
}

static void reset(struct inv_parquet_column *c)
{
	inv_buf_reset(&c->values);
	inv_buf_reset(&c->dictionary);
	c->rows = c->nulls = c->n = 0;
	c->n_dictionary = 0;
	if (c->slots)
		memset(c->slots, 0, c->n_slots * sizeof(*c->slots));
}

int inv_parquet_column_write(struct inv_parquet_column *c, struct inv_buf *out,
			     int64_t off, struct inv_buf *spare, void *zstd,
			     struct inv_parquet_chunk *chunk)
{
	bool words = c->kind == INV_PARQUET_WORD || c->kind == INV_PARQUET_PID;
	size_t begin = out->len;
	int rc = 0;

	*chunk = (struct inv_parquet_chunk){
		.dictionary_off = -1,
		.values = (int64_t)c->rows,
		.nulls = (int64_t)c->nulls,
		.bounds = c->n && (c->kind == INV_PARQUET_INT ||
				   c->kind == INV_PARQUET_TIME),
		.least = c->least,
		.most = c->most,
	};
	if (words) {
		chunk->dictionary_off = off;
		rc = put_page(out, &c->dictionary, true, c->n_dictionary,
			      INV_PARQUET_PLAIN, zstd, chunk);
	}
	chunk->data_off = off + (int64_t)(out->len - begin);
	inv_buf_reset(spare);
	put_levels(c, spare);
	chunk->encoding = put_values(c, spare);
	if (!rc)
		rc = put_page(out, spare, false, c->rows, chunk->encoding, zstd,
			      chunk);
	chunk->size = (int64_t)(out->len - begin);
	reset(c);
	return rc;
}
