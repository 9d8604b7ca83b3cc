/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_BUF_H
#define INV_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/likely.h"

/*
 * A buffer that grows. A struct of zeros is an empty buffer.
 *
 * After the first failure nothing more is appended, and `error' keeps the
 * reason.  So callers need to check `error' only once, after the last append.
 * The bytes in data stay valid.
 *
 * The fast way to write is to reserve space, write, and commit the length:
 *
 *	uint8_t *w = inv_buf_reserve(b, INV_DECIMAL_MAX);
 *	if (w)
 *		inv_buf_commit(b, inv_decimal_u64(w, v) - w);
 */
struct inv_buf {
	uint8_t *data;
	size_t len; /* callers may reduce it to remove bytes at the end */
	size_t cap;
	int error; /* 0, INV_ENOMEM, or INV_ETOOBIG (base/proto.h) */
};

/* Frees data; the buffer is then empty and usable. NULL is allowed. */
void inv_buf_release(struct inv_buf *b);

/* Makes the buffer empty and clears error; keeps the memory. */
static inline void inv_buf_reset(struct inv_buf *b)
{
	b->len = 0;
	b->error = 0;
}

/* The slow path of inv_buf_reserve, which allocates memory. */
uint8_t *inv_buf_grow(struct inv_buf *b, size_t n);

/*
 * Returns space for n more bytes at the end. The pointer is valid until the
 * next call that appends. Returns NULL if this call or an earlier call has
 * failed.
 */
INV_HOT uint8_t *inv_buf_reserve(struct inv_buf *b, size_t n)
{
	/* < and not <=: if n is 0 and data is still NULL, inv_buf_grow must
	 * allocate, because a result of NULL means failure. */
	if (inv_likely(n < b->cap - b->len && b->error == 0))
		return b->data + b->len;
	return inv_buf_grow(b, n);
}

/* Appends n bytes, which the caller has written to the place that
 * inv_buf_reserve returned. */
INV_HOT void inv_buf_commit(struct inv_buf *b, size_t n)
{
	b->len += n;
}

INV_HOT void inv_buf_put(struct inv_buf *b, const void *p, size_t n)
{
	uint8_t *w = inv_buf_reserve(b, n);

	if (w && n) {
		memcpy(w, p, n);
		b->len += n;
	}
}

INV_HOT void inv_buf_putc(struct inv_buf *b, char c)
{
	uint8_t *w = inv_buf_reserve(b, 1);

	if (w) {
		*w = (uint8_t)c;
		b->len++;
	}
}

INV_HOT void inv_buf_puts(struct inv_buf *b, const char *s)
{
	inv_buf_put(b, s, strlen(s));
}

/* Appends text as printf does. Not for hot paths. */
void inv_buf_printf(struct inv_buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define INV_DECIMAL_MAX 20 /* characters, including a sign */

/*
 * Writes v in decimal at w, which has space for INV_DECIMAL_MAX bytes. Returns
 * a pointer to the byte after the last digit. Writes no NUL.
 */
uint8_t *inv_decimal_u64(uint8_t *w, uint64_t v);
uint8_t *inv_decimal_i64(uint8_t *w, int64_t v);

/* The texts "00" to "99", one after another. With this table, numbers are
 * written two digits at a time. */
extern const char inv_decimal_pairs[201];

/* Writes v, at most 99, as two digits. */
INV_HOT void inv_decimal_two(uint8_t *w, unsigned v)
{
	memcpy(w, inv_decimal_pairs + (size_t)2 * v, 2);
}

/* Appends v in decimal. */
void inv_buf_u64(struct inv_buf *b, uint64_t v);
void inv_buf_i64(struct inv_buf *b, int64_t v);

#endif
