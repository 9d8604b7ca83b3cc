/* SPDX-License-Identifier: Apache-2.0 */
#include "term/text_int.h"

/* Reads a string, and joins it with strings that follow it directly. */
inv_word inv__text_string(struct inv_text *s)
{
	inv_word list = INV_NIL, *tail = &list, *cell;

	while (!s->rc && inv_text_take(s, "\"")) {
		while (!s->rc && !inv__text_at(s, "\"")) {
			uint32_t c = inv__text_char(s);

			cell = inv_heap_take(s->h, 2);
			if (!cell)
				return inv__text_too_big(s);
			*tail = (inv_word)(uintptr_t)cell + 2;
			cell[0] = (inv_word)c << 3 | 1;
			cell[1] = INV_NIL;
			tail = &cell[1];
		}
		s->p += !s->rc;
	}
	return s->rc ? 0 : list;
}

/* Appends the lower `width' bits of v to the *n bits that were already written
 * into the heap's free space, after h->used. When all bits are written, the
 * caller raises h->used to include them. */
static void put_bits(struct inv_text *s, uint64_t *n, uint64_t v,
		     unsigned width)
{
	uint8_t *bytes = (uint8_t *)(s->h->w + s->h->used);
	uint64_t room = 64 * (uint64_t)(s->h->cap - s->h->used);

	if (*n + width > room) {
		inv__text_too_big(s);
		return;
	}
	for (unsigned i = 0; i < width; i++, ++*n) {
		unsigned shift = width - 1 - i;
		unsigned bit = shift < 64 ? v >> shift & 1 : 0;

		if (*n % 8 == 0)
			bytes[*n / 8] = 0;
		bytes[*n / 8] |= (uint8_t)(bit << (7 - *n % 8));
	}
}

static void binary_string(struct inv_text *s, uint64_t *n)
{
	const uint8_t *from = s->p++;

	while (!s->rc && !inv__text_at(s, "\"")) {
		uint32_t c = inv__text_char(s);

		if (c > 255)
			inv__text_fail_at(
				s, from,
				"a character above 255: write its bytes");
		put_bits(s, n, c, 8);
	}
	s->p += !s->rc;
}

/* Reads a number in a segment of a binary. The reading makes a term in the
 * heap, which must not overwrite the n bits that were written already. So
 * h->used is set to the end of these bits while the number is read, and then to
 * `used' again. */
static int64_t segment_number(struct inv_text *s, uint64_t n, size_t used)
{
	const uint8_t *from = s->p;
	int64_t v = 0;
	inv_word t;

	s->h->used = used + (n + 63) / 64;
	t = inv__text_signed(s);
	if (!s->rc && inv_box_of(t, INV_BOX_BIG) &&
	    inv_box_n(inv_box(t)) == 1 &&
	    !inv_box_has(inv_box(t), INV_BOX_NEGATIVE))
		v = (int64_t)inv_box(t)[1];
	else if (!s->rc && !inv_word_i64(t, &v))
		inv__text_fail_at(
			s, from,
			"in a binary: integers of up to 64 bits, and strings");
	s->h->used = used;
	return v;
}

static void binary_segment(struct inv_text *s, uint64_t *n, size_t used)
{
	const uint8_t *from = s->p;
	int64_t v, width = 8;

	if (inv__text_at(s, "\"")) {
		binary_string(s, n);
		return;
	}
	v = segment_number(s, *n, used);
	if (!s->rc && inv_text_take(s, ":")) {
		width = segment_number(s, *n, used);
		if (!s->rc && (width < 0 || width > 64))
			inv__text_fail_at(s, from, "a size is 0 to 64");
	}
	if (!s->rc && (inv__text_at(s, "/") || inv__text_at(s, "*")))
		inv__text_fail_at(s, s->p,
				  "types of segments are not supported");
	if (!s->rc)
		put_bits(s, n, (uint64_t)v, (unsigned)width);
}

inv_word inv__text_binary(struct inv_text *s)
{
	size_t used = s->h->used;
	const uint8_t *bytes;
	uint64_t n = 0;

	s->p += 2;
	if (!inv_text_take(s, ">>")) {
		do {
			inv__text_skip(s);
			binary_segment(s, &n, used);
		} while (!s->rc && inv_text_take(s, ","));
		if (s->rc || !inv__text_need(s, ">>", "a binary"))
			return 0;
	}
	bytes = (const uint8_t *)inv_heap_take(s->h, (n + 63) / 64);
	return bytes ? inv__text_made(s, inv_make_bits(s->h, bytes, 0, n)) :
		       inv__text_too_big(s);
}
