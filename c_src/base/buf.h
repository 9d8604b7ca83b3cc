/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_BUF_H
#define INV_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Bytes that grow.  All zero is an empty one.
 *
 * The first failure sticks: from then on nothing more is appended, error says
 * why, and one check at the end is enough.  What is in data stays whole.
 *
 * The fast way to write is to reserve room, write, and say how much:
 *
 *	uint8_t *w = inv_buf_reserve(b, INV_DECIMAL_MAX);
 *	if (w)
 *		inv_buf_commit(b, inv_decimal_u64(w, v) - w);
 */
struct inv_buf {
	uint8_t *data;
	size_t len; /* may be made smaller by anybody: it forgets the tail */
	size_t cap;
	int error; /* 0, or INV_ENOMEM */
};

/* Frees data; the buffer is empty and usable again.  NULL is let be. */
void inv_buf_release(struct inv_buf *b);

/* Empties it, error included; keeps the memory. */
static inline void inv_buf_reset(struct inv_buf *b)
{
	b->len = 0;
	b->error = 0;
}

/* The slow half of inv_buf_reserve. */
uint8_t *inv_buf_grow(struct inv_buf *b, size_t n);

/*
 * Room for n more bytes at the end; NULL after a failure, this or an earlier
 * one.  The pointer is good until the next call that appends.
 */
static inline uint8_t *inv_buf_reserve(struct inv_buf *b, size_t n)
{
	if (b->error == 0 && n <= b->cap - b->len && b->data)
		return b->data + b->len;
	return inv_buf_grow(b, n);
}

/* n bytes were written where inv_buf_reserve said. */
static inline void inv_buf_commit(struct inv_buf *b, size_t n)
{
	b->len += n;
}

static inline void inv_buf_put(struct inv_buf *b, const void *p, size_t n)
{
	uint8_t *w = inv_buf_reserve(b, n);

	if (w && n) {
		memcpy(w, p, n);
		b->len += n;
	}
}

static inline void inv_buf_putc(struct inv_buf *b, char c)
{
	uint8_t *w = inv_buf_reserve(b, 1);

	if (w) {
		*w = (uint8_t)c;
		b->len++;
	}
}

static inline void inv_buf_puts(struct inv_buf *b, const char *s)
{
	inv_buf_put(b, s, strlen(s));
}

/* printf; for what is not hot. */
void inv_buf_printf(struct inv_buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define INV_DECIMAL_MAX 20 /* characters, a sign included */

/* Writes v in decimal at w, which has room for INV_DECIMAL_MAX; returns past
 * it.  Nothing ends the text. */
uint8_t *inv_decimal_u64(uint8_t *w, uint64_t v);
uint8_t *inv_decimal_i64(uint8_t *w, int64_t v);

/* Appends v in decimal. */
void inv_buf_u64(struct inv_buf *b, uint64_t v);
void inv_buf_i64(struct inv_buf *b, int64_t v);

#endif
