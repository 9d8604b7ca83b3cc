/* SPDX-License-Identifier: Apache-2.0 */
#include "log/record.h"

#include <string.h>

#define HEAD 5
#define ETF_VERSION 131
#define ETF_SMALL_TUPLE 104

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* Reads the head of the record at off, but not its term. Returns false if there
 * is no complete record at off. */
static bool frame_at(const struct inv_window *w, uint64_t off,
		     struct inv_record *f)
{
	uint64_t left = w->src->size - off;
	uint8_t p[HEAD + 1] = { 0 };

	memset(f, 0, sizeof(*f));
	if (left < HEAD)
		return false;
	inv_window_copy(w, off, p, left < sizeof(p) ? HEAD : sizeof(p));
	if (p[0] > 1)
		return false;
	f->off = off;
	f->len = HEAD;
	f->n = be32(p + 1);
	f->is_drop = p[0] == 1;
	if (f->is_drop)
		return true;
	if (f->n < 2 || f->n > left - HEAD || p[HEAD] != ETF_VERSION)
		return false;
	f->term_len = f->n;
	f->len = HEAD + (uint64_t)f->n;
	return true;
}

static bool end_or_frame_at(const struct inv_window *w, uint64_t off)
{
	struct inv_record f;

	return off == w->src->size || frame_at(w, off, &f);
}

/* Returns the offset of the first record at or after off that has a tuple and
 * is followed by another record or by the end of the file. */
static uint64_t resync(struct inv_window *w, uint64_t off)
{
	static const uint8_t start[] = { ETF_VERSION, ETF_SMALL_TUPLE };
	const struct inv_source *src = w->src;
	struct inv_record f;

	off += HEAD;
	while (off < src->size && src->size - off >= sizeof(start)) {
		size_t n;
		const uint8_t *p = inv_window_rest(w, off, &n);
		const uint8_t *found = memmem(p, n, start, sizeof(start));

		if (!found) {
			off += n - (sizeof(start) - 1);
			continue;
		}
		off += (uint64_t)(found - p);
		if (frame_at(w, off - HEAD, &f) && !f.is_drop &&
		    end_or_frame_at(w, f.off + f.len))
			return f.off;
		off++;
	}
	return src->size;
}

static void skip(struct inv_window *w, uint64_t *off, struct inv_notices *ns,
		 const char *what)
{
	uint64_t next = resync(w, *off + 1);

	inv_notice_damage(
		ns, w->src->name, *off, next - *off, "%s",
		next == w->src->size ? "the file ends within a record" : what);
	*off = next;
}

static bool too_large(const struct inv_record *f)
{
	return !f->is_drop && f->term_len > INV_RECORD_TERM_MAX;
}

static int read_term(struct inv_window *w, struct inv_notices *ns,
		     struct inv_record *f)
{
	if (f->is_drop)
		return 0;
	if (too_large(f)) {
		inv_notice_damage(ns, w->src->name, f->off, f->len,
				  "a record's term is larger than %u MiB, and "
				  "is left out",
				  INV_RECORD_TERM_MAX >> 20);
		return 0;
	}
	f->term = inv_window_get(w, f->off + HEAD, f->term_len);
	return f->term ? 0 : INV_ENOMEM;
}

int inv_record_next(struct inv_window *w, uint64_t *off, struct inv_notices *ns,
		    struct inv_record *f)
{
	while (*off < w->src->size) {
		uint64_t left = w->src->size - *off;

		inv_window_get(w, *off, left < HEAD + 1 ? left : HEAD + 1);
		/* A term larger than INV_RECORD_TERM_MAX is probably damage:
		 * its length is wrong. So a record with such a term is accepted
		 * only if another record or the end of the source follows
		 * it. */
		if (frame_at(w, *off, f) &&
		    (!too_large(f) || end_or_frame_at(w, *off + f->len))) {
			*off += f->len;
			return read_term(w, ns, f);
		}
		skip(w, off, ns, "no record");
	}
	return INV_END;
}

void inv_record_bad_term(struct inv_window *w, uint64_t *off,
			 struct inv_notices *ns, const struct inv_record *f)
{
	if (end_or_frame_at(w, f->off + f->len)) {
		inv_notice_damage(ns, w->src->name, f->off, f->len,
				  "a record's term is invalid");
		*off = f->off + f->len;
	} else {
		*off = f->off;
		skip(w, off, ns, "a record is invalid");
	}
}
