/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_WINDOW_H
#define INV_LOG_WINDOW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "log/source.h"

/*
 * The part of a source that is in memory. The window moves through the source
 * as the caller requests bytes. If the requests follow each other without gaps,
 * the window reads larger and larger pieces of the file; if they jump, for
 * example from packet head to packet head, it reads small pieces. If the source
 * is in memory, the window is the whole source and has no buffer.
 */
struct inv_window {
	const struct inv_source *src; /* borrowed */
	/* private */
	uint8_t *buf;
	size_t cap;
	uint64_t off; /* offset of buf[0] in the source */
	size_t len;   /* bytes in buf */
	size_t ahead; /* how many bytes the last read of the file read after
		       * the requested bytes */
};

/*
 * Makes a window that can hold `size' bytes; `size' must be at least 4096.
 * Returns 0 or INV_ENOMEM. inv_window_release accepts a struct of zeros.
 */
int inv_window_init(struct inv_window *w, const struct inv_source *src,
		    size_t size);
void inv_window_release(struct inv_window *w);

/* The slow path of inv_window_get, which reads from the source. */
const uint8_t *inv_window_move(struct inv_window *w, uint64_t off, size_t n);

/*
 * Returns the n bytes at off, which must be in the source. They are valid until
 * the next call. If n is greater than the size of the window, the window grows;
 * returns NULL if there is no memory for this.
 */
static inline const uint8_t *inv_window_get(struct inv_window *w, uint64_t off,
					    size_t n)
{
	if (!w->src->file)
		return w->src->data + (off - w->src->begin);
	if (off >= w->off && off - w->off <= w->len &&
	    n <= w->len - (off - w->off))
		return w->buf + (off - w->off);
	return inv_window_move(w, off, n);
}

/* Copies the n bytes at off, which must be in the source, to out. Does not move
 * the window. */
static inline void inv_window_copy(const struct inv_window *w, uint64_t off,
				   void *out, size_t n)
{
	if (w->src->file && off >= w->off && off - w->off <= w->len &&
	    n <= w->len - (off - w->off))
		memcpy(out, w->buf + (off - w->off), n);
	else
		inv_source_copy(w->src, off, out, n);
}

/*
 * Returns the bytes from off to the end of the window. First moves the window
 * if necessary. Sets *n to the number of these bytes: at least 4096, or fewer
 * if the source ends earlier; 0 only at the end of the source. Never returns
 * NULL.
 */
const uint8_t *inv_window_rest(struct inv_window *w, uint64_t off, size_t *n);

#endif
