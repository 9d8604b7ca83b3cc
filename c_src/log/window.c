/* SPDX-License-Identifier: Apache-2.0 */
#include "log/window.h"

#include <stdlib.h>
#include <string.h>

/* A read of the file reads READ_MIN to READ_MAX bytes more than were requested,
 * if the window has space for them. */
#define READ_MIN ((size_t)4 * 1024)
#define READ_MAX ((size_t)256 * 1024)

int inv_window_init(struct inv_window *w, const struct inv_source *src,
		    size_t size)
{
	memset(w, 0, sizeof(*w));
	w->src = src;
	if (!src->file)
		return 0;
	w->cap = size;
	w->buf = malloc(w->cap);
	return w->buf ? 0 : INV_ENOMEM;
}

void inv_window_release(struct inv_window *w)
{
	free(w->buf);
	memset(w, 0, sizeof(*w));
}

static bool grow(struct inv_window *w, size_t n)
{
	uint8_t *more;

	if (n <= w->cap)
		return true;
	/* The old bytes are not needed, so do not let realloc copy them. */
	w->len = 0;
	more = malloc(n + READ_MAX);
	if (!more)
		return false;
	free(w->buf);
	w->buf = more;
	w->cap = n + READ_MAX;
	return true;
}

/* Returns how many bytes to read at off. At least n bytes are needed. */
static size_t read_size(struct inv_window *w, uint64_t off, size_t n)
{
	uint64_t left = w->src->size - off;
	bool follows = w->len && off > w->off && off - w->off <= w->len;

	if (!follows || !w->ahead)
		w->ahead = READ_MIN;
	else if (w->ahead < READ_MAX)
		w->ahead *= 2;
	n = w->ahead < w->cap - n ? n + w->ahead : w->cap;
	return n < left ? n : (size_t)left;
}

const uint8_t *inv_window_move(struct inv_window *w, uint64_t off, size_t n)
{
	size_t size, kept = 0;

	if (!grow(w, n))
		return NULL;
	size = read_size(w, off, n);
	/* Keep the bytes at off that are in the window already. Often a record
	 * begins there and continues after the window. */
	if (off > w->off && off - w->off < w->len) {
		kept = w->len - (size_t)(off - w->off);
		memmove(w->buf, w->buf + (off - w->off), kept);
	}
	inv_source_copy(w->src, off + kept, w->buf + kept, size - kept);
	w->off = off;
	w->len = size;
	return w->buf;
}

const uint8_t *inv_window_rest(struct inv_window *w, uint64_t off, size_t *n)
{
	const uint8_t *p;

	*n = (size_t)(w->src->size - off);
	if (!w->src->file)
		return w->src->data + (off - w->src->begin);
	if (*n > READ_MIN)
		*n = READ_MIN;
	p = inv_window_get(w, off, *n);
	*n = (size_t)(w->off + w->len - off);
	return p;
}
