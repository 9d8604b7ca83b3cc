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

/* Reads the record at off. Returns false if it is not a whole record. */
static bool frame_at(const struct inv_source *src, uint64_t off,
		     struct inv_record *f)
{
	uint64_t left = src->size - off;
	const uint8_t *p = src->data + off;

	memset(f, 0, sizeof(*f));
	if (left < HEAD || p[0] > 1)
		return false;
	f->off = off;
	f->len = HEAD;
	f->n = be32(p + 1);
	f->is_drop = p[0] == 1;
	if (f->is_drop)
		return true;
	if (f->n < 2 || f->n > left - HEAD || p[HEAD] != ETF_VERSION)
		return false;
	f->term = p + HEAD;
	f->term_len = f->n;
	f->len = HEAD + (uint64_t)f->n;
	return true;
}

static bool end_or_frame_at(const struct inv_source *src, uint64_t off)
{
	struct inv_record f;

	return off == src->size || frame_at(src, off, &f);
}

/* Returns the offset of the first record at or after off that has a tuple and
 * is followed by another record or by the end of the file. */
static uint64_t resync(const struct inv_source *src, uint64_t off)
{
	static const uint8_t start[] = { ETF_VERSION, ETF_SMALL_TUPLE };
	struct inv_record f;

	for (off += HEAD; off < src->size; off++) {
		const uint8_t *p = memmem(src->data + off, src->size - off,
					  start, sizeof(start));

		if (!p)
			break;
		off = (uint64_t)(p - src->data);
		if (frame_at(src, off - HEAD, &f) && !f.is_drop &&
		    end_or_frame_at(src, f.off + f.len))
			return f.off;
	}
	return src->size;
}

static void skip(const struct inv_source *src, uint64_t *off,
		 struct inv_notices *ns, const char *what)
{
	uint64_t next = resync(src, *off + 1);

	inv_notice_damage(ns, src->name, *off, next - *off, "%s",
			  next == src->size ? "the file ends within a record" :
					      what);
	*off = next;
}

int inv_record_next(const struct inv_source *src, uint64_t *off,
		    struct inv_notices *ns, struct inv_record *f)
{
	while (*off < src->size) {
		if (frame_at(src, *off, f)) {
			*off += f->len;
			return 0;
		}
		skip(src, off, ns, "no record");
	}
	return INV_END;
}

void inv_record_bad_term(const struct inv_source *src, uint64_t *off,
			 struct inv_notices *ns, const struct inv_record *f)
{
	if (end_or_frame_at(src, f->off + f->len)) {
		inv_notice_damage(ns, src->name, f->off, f->len,
				  "a record's term is invalid");
		*off = f->off + f->len;
	} else {
		*off = f->off;
		skip(src, off, ns, "a record is invalid");
	}
}
