/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "term/print_int.h"

/*
 * r->marks is a stack of numbers. Each open large map has these numbers in it:
 * the r->base and the r->depth of the large map around it, and then the offsets
 * in the output at which its pairs begin.
 */

static void push(struct inv__order *r, size_t v)
{
	inv_buf_put(&r->marks, &v, sizeof(v));
}

static size_t mark(const struct inv__order *r, size_t i)
{
	size_t v;

	memcpy(&v, r->marks.data + i * sizeof(v), sizeof(v));
	return v;
}

static size_t n_marks(const struct inv__order *r)
{
	return r->marks.len / sizeof(size_t);
}

void inv__order_open(struct inv__order *r, uint32_t depth)
{
	push(r, r->base);
	push(r, r->depth);
	r->base = n_marks(r);
	r->depth = depth;
}

void inv__order_pair(struct inv__order *r, size_t at)
{
	push(r, at);
}

static void reverse(struct inv__order *r, struct inv_buf *out)
{
	size_t n = n_marks(r) - r->base;
	size_t begin = mark(r, r->base), end = out->len, i, at;
	uint8_t *w = out->data + begin;

	inv_buf_reset(&r->copy);
	inv_buf_put(&r->copy, w, out->len - begin);
	if (r->copy.error)
		return;
	for (i = n; i > 0; i--) {
		at = mark(r, r->base + i - 1);
		memcpy(w, r->copy.data + (at - begin), end - at);
		w += end - at;
		if (i > 1)
			*w++ = ',';
		end = at - 1; /* without the comma */
	}
}

void inv__order_close(struct inv__order *r, struct inv_buf *out)
{
	if (!out->error && !r->marks.error && n_marks(r) > r->base)
		reverse(r, out);
	if (!out->error && (r->marks.error || r->copy.error))
		out->error = INV_ENOMEM;
	if (r->marks.error) {
		r->depth = 0; /* r->marks is incomplete: do not use it again */
		return;
	}
	r->marks.len = (r->base - 2) * sizeof(size_t);
	r->depth = (uint32_t)mark(r, r->base - 1);
	r->base = mark(r, r->base - 2);
}

void inv__order_release(struct inv__order *r)
{
	inv_buf_release(&r->marks);
	inv_buf_release(&r->copy);
}
