/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_PARQUET_COLUMN_H
#define INV_PARQUET_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "table/rows.h"

/*
 * A column of a Parquet file: its values since the last row group. A column of
 * the kind WORD or PID often repeats its texts, so it has a dictionary of them
 * in each row group.
 */
enum inv_parquet_kind {
	INV_PARQUET_INT,
	INV_PARQUET_TIME,
	INV_PARQUET_BOOL,
	INV_PARQUET_TEXT,
	INV_PARQUET_WORD, /* a text, by its number in inv_words */
	INV_PARQUET_PID,  /* a process, by its number in inv_cast */
};

/* An entry of a hash table. */
struct inv_parquet_slot {
	uint32_t
		number; /* number of the word or process; 0: the slot is free */
	uint32_t index; /* index of its text in the row group's dictionary */
};

struct inv_parquet_column {
	char name[INV_COLUMN_NAME_MAX];
	uint8_t kind; /* enum inv_parquet_kind */
	/* private */
	uint32_t *levels; /* for each row: 1, or 0 for NULL */
	size_t rows, cap_rows;
	size_t nulls;
	struct inv_buf values; /* INT, TIME: int64_t; BOOL, WORD, PID: uint32_t;
				  TEXT: as in the file */
	size_t n;	       /* how many values are not NULL */
	int64_t least, most;
	struct inv_buf dictionary;
	uint32_t n_dictionary;
	struct inv_parquet_slot *slots; /* hash table of the dictionary */
	uint32_t n_slots;		/* 0, or a power of two */
};

/* Frees the memory of the column. The column is empty afterwards, and can get
 * values again. */
void inv_parquet_column_release(struct inv_parquet_column *c);

/*
 * These functions add the column's values of the next rows. They return 0 or
 * INV_ENOMEM.
 *
 * inv_parquet_column_nulls adds NULL for n rows.
 */
int inv_parquet_column_nulls(struct inv_parquet_column *c, size_t n);
/* Adds the values of n rows. levels[i] is 1, or 0 if value i is NULL. `levels'
 * may be NULL if no value is NULL. */
int inv_parquet_column_ints(struct inv_parquet_column *c, const int64_t *v,
			    const uint32_t *levels, size_t n);
/* Adds the values of n rows: numbers of words or processes; 0 is NULL. */
int inv_parquet_column_numbers(struct inv_parquet_column *c,
			       const struct inv_cast *cast,
			       const uint32_t *numbers, size_t n);
/* Adds the value of one row. */
int inv_parquet_column_text(struct inv_parquet_column *c, const uint8_t *p,
			    size_t len);

/* Returns how many bytes of memory the column takes. */
size_t inv_parquet_column_size(const struct inv_parquet_column *c);

/* What was written of a column in one row group. */
struct inv_parquet_chunk {
	int64_t dictionary_off; /* offset of the dictionary in the file; -1: no
				   dictionary */
	int64_t data_off;
	int64_t plain_size; /* uncompressed size, with the page headers */
	int64_t size;
	int64_t values, nulls;
	bool bounds; /* true if `least' and `most' are set: the lowest and the
			highest value */
	int64_t least, most;
	int encoding; /* Parquet's number of the encoding of the values */
};

/* Appends the pages of the column to out, and makes the column empty. `off' is
 * the offset that the pages will have in the file. Returns 0 or INV_ENOMEM. */
int inv_parquet_column_write(struct inv_parquet_column *c, struct inv_buf *out,
			     int64_t off, struct inv_buf *spare, void *zstd,
			     struct inv_parquet_chunk *chunk);

/* Numbers of Parquet's format. */
enum {
	INV_PARQUET_PLAIN = 0,
	INV_PARQUET_RLE = 3,
	INV_PARQUET_DELTA = 5,
	INV_PARQUET_DICTIONARY = 8,
	INV_PARQUET_ZSTD = 6,
};

#endif
