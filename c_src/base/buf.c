/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/err.h"

#define FIRST_CAP 256

void inv_buf_release(struct inv_buf *b)
{
	if (!b)
		return;
	inv_free(b->data);
	memset(b, 0, sizeof(*b));
}

uint8_t *inv_buf_grow(struct inv_buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : FIRST_CAP;
	uint8_t *data;

	if (b->error)
		return NULL;
	if (b->data && n <= b->cap - b->len)
		return b->data + b->len;
	if (n > SIZE_MAX / 2 - b->len)
		goto no_memory;
	while (cap - b->len < n)
		cap *= 2;
	data = inv_realloc(b->data, cap);
	if (!data)
		goto no_memory;
	b->data = data;
	b->cap = cap;
	return data + b->len;

no_memory:
	b->error = INV_ENOMEM;
	return NULL;
}

void inv_buf_printf(struct inv_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	uint8_t *w;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	/* One byte more, because vsnprintf writes a NUL at the end. */
	w = n < 0 ? NULL : inv_buf_reserve(b, (size_t)n + 1);
	if (w) {
		vsnprintf((char *)w, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

const char inv_decimal_pairs[] = "0001020304050607080910111213141516171819"
				 "2021222324252627282930313233343536373839"
				 "4041424344454647484950515253545556575859"
				 "6061626364656667686970717273747576777879"
				 "8081828384858687888990919293949596979899";

static unsigned digits_of(uint64_t v)
{
	unsigned n = 1;

	for (; v >= 10000; v /= 10000)
		n += 4;
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

uint8_t *inv_decimal_u64(uint8_t *w, uint64_t v)
{
	uint8_t *end, *p;

	if (v < 10) {
		*w = (uint8_t)('0' + v);
		return w + 1;
	}
	p = end = w + digits_of(v);
	while (v >= 100) {
		p -= 2;
		inv_decimal_two(p, (unsigned)(v % 100));
		v /= 100;
	}
	if (v >= 10)
		inv_decimal_two(p - 2, (unsigned)v);
	else
		p[-1] = (uint8_t)('0' + v);
	return end;
}

uint8_t *inv_decimal_i64(uint8_t *w, int64_t v)
{
	if (v >= 0)
		return inv_decimal_u64(w, (uint64_t)v);
	*w = '-';
	return inv_decimal_u64(w + 1, -(uint64_t)v);
}

void inv_buf_u64(struct inv_buf *b, uint64_t v)
{
	uint8_t *w = inv_buf_reserve(b, INV_DECIMAL_MAX);

	if (w)
		b->len = (size_t)(inv_decimal_u64(w, v) - b->data);
}

void inv_buf_i64(struct inv_buf *b, int64_t v)
{
	uint8_t *w = inv_buf_reserve(b, INV_DECIMAL_MAX);

	if (w)
		b->len = (size_t)(inv_decimal_i64(w, v) - b->data);
}
