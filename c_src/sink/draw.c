/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/draw.h"

#include <inttypes.h>

#define LINES_MAX 24u /* a histogram has at most this many lines */
#define BAR 38u	      /* columns of the longest bar */
#define GAP_MAX 2u    /* a longer gap of empty lines becomes "..." */

/* A line of a drawn histogram stands for a part of a block (abi/buckets.h), or
 * for several blocks. */
struct scale {
	uint32_t parts;	 /* how many lines a block takes; a divisor of
			    INV_BUCKETS */
	uint32_t blocks; /* how many blocks a line takes, if parts is 1 */
	uint32_t first;	 /* the first line that is drawn */
	uint32_t end;
};

static uint32_t line_of(const struct scale *s, uint32_t block, uint32_t bucket)
{
	return s->parts > 1 ?
		       block * s->parts + bucket / (INV_BUCKETS / s->parts) :
		       block / s->blocks;
}

/* Returns the lowest value of a line. */
static uint64_t line_low(const struct scale *s, uint32_t line)
{
	uint32_t block = s->parts > 1 ? line / s->parts : line * s->blocks;
	uint32_t part = s->parts > 1 ? line % s->parts : 0;
	uint64_t width;

	/* The line after the last block is not drawn. Its lowest value counts
	 * as the maximum. */
	if (block >= INV_BUCKETS_BLOCKS)
		return UINT64_MAX;
	return inv_buckets_low(block, part * (INV_BUCKETS / s->parts), &width);
}

static void find_lines(const struct inv_histogram *h, struct scale *s)
{
	s->first = UINT32_MAX;
	s->end = 0;
	for (uint32_t b = 0; b < INV_BUCKETS_BLOCKS; b++) {
		for (uint32_t i = 0; i < INV_BUCKETS; i++) {
			uint32_t line = line_of(s, b, i);

			if (!inv_histogram_at(h, b, i))
				continue;
			if (s->first == UINT32_MAX)
				s->first = line;
			s->end = line + 1;
		}
	}
}

/* Chooses the finest scale with at most LINES_MAX lines. */
static struct scale scale_of(const struct inv_histogram *h)
{
	struct scale s = { .parts = INV_BUCKETS / 4, .blocks = 1 };

	for (;;) {
		find_lines(h, &s);
		if (s.end <= s.first + LINES_MAX)
			return s;
		if (s.parts > 1)
			s.parts /= 2;
		else
			s.blocks++;
	}
}

static uint64_t sum_line(const struct inv_histogram *h, const struct scale *s,
			 uint32_t line)
{
	uint64_t n = 0;

	for (uint32_t b = 0; b < INV_BUCKETS_BLOCKS; b++)
		for (uint32_t i = 0; h->blocks[b] && i < INV_BUCKETS; i++)
			if (line_of(s, b, i) == line)
				n += h->blocks[b][i];
	return n;
}

static void put_value(inv_draw_value *put, uint64_t value, struct inv_buf *b)
{
	struct inv_buf text = { 0 };

	put(value, &text);
	inv_buf_putc(&text, 0);
	inv_buf_printf(b, " %10s", text.error ? "" : (const char *)text.data);
	inv_buf_release(&text);
}

static void put_line(const struct inv_histogram *h, const struct scale *s,
		     uint32_t line, uint64_t most, inv_draw_value *put,
		     struct inv_buf *b)
{
	uint64_t n = sum_line(h, s, line);
	uint32_t bar = (uint32_t)((double)n / (double)most * (double)BAR + 0.5);

	put_value(put, line_low(s, line), b);
	put_value(put, line_low(s, line + 1), b);
	inv_buf_printf(b, " %10" PRIu64 " %5.1f%%", n,
		       100.0 * (double)n / (double)h->n);
	if (n)
		inv_buf_putc(b, ' ');
	for (uint32_t i = 0; i < (n && !bar ? 1 : bar); i++)
		inv_buf_putc(b, '#');
	inv_buf_putc(b, '\n');
}

/* Returns how many lines without values follow from this line on. */
static uint32_t empty_lines(const struct inv_histogram *h,
			    const struct scale *s, uint32_t line)
{
	uint32_t n = 0;

	while (line + n < s->end && !sum_line(h, s, line + n))
		n++;
	return n;
}

void inv_draw_histogram(const struct inv_histogram *h, inv_draw_value *put,
			struct inv_buf *b)
{
	struct scale s;
	uint64_t most = 1;

	if (!h->n)
		return;
	s = scale_of(h);
	for (uint32_t i = s.first; i < s.end; i++) {
		uint64_t n = sum_line(h, &s, i);

		if (n > most)
			most = n;
	}
	for (uint32_t i = s.first; i < s.end; i++) {
		uint32_t empty = empty_lines(h, &s, i);

		if (empty <= GAP_MAX) {
			put_line(h, &s, i, most, put, b);
			continue;
		}
		inv_buf_printf(b, "%11s\n", "...");
		i += empty - 1;
	}
}
