/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/encode.h"

#include <stdbool.h>

static void varint(struct inv_buf *out, uint64_t v)
{
	do {
		inv_buf_putc(out, (char)(v < 0x80 ? v : (v & 0x7f) | 0x80));
		v >>= 7;
	} while (v);
}

/* Packs numbers, the least significant bit first. The caller must pack a
 * multiple of 8 numbers, so that the last byte is full. */
struct packer {
	struct inv_buf *out;
	uint8_t *w;
	uint64_t acc;
	unsigned filled;
};

static inline void pack(struct packer *p, uint64_t v, unsigned bits)
{
	/* `acc' has up to 7 bits already, so 56 more bits always fit. More than
	 * 56 bits are packed in two steps. */
	if (bits > 56) {
		pack(p, v & 0xffffffff, 32);
		v >>= 32;
		bits -= 32;
	}
	p->acc |= v << p->filled;
	p->filled += bits;
	while (p->filled >= 8) {
		*p->w++ = (uint8_t)p->acc;
		p->acc >>= 8;
		p->filled -= 8;
	}
}

/* --- RLE ------------------------------------------------------------------ */

/* Writes numbers as packed bits, in groups of 8 numbers. Adds zeros to the last
 * group if it is not full. */
static void put_packed(struct inv_buf *out, const uint32_t *v, size_t n,
		       unsigned bits)
{
	size_t groups = (n + 7) / 8;
	struct packer p = { .out = out };

	if (!n)
		return;
	varint(out, groups << 1 | 1);
	p.w = inv_buf_reserve(out, groups * bits);
	if (!p.w)
		return;
	for (size_t i = 0; i < groups * 8; i++)
		pack(&p, i < n ? v[i] : 0, bits);
	inv_buf_commit(out, groups * bits);
}

void inv_encode_run(struct inv_buf *out, uint32_t v, size_t n, unsigned bits)
{
	varint(out, (uint64_t)n << 1);
	for (unsigned i = 0; i < (bits + 7) / 8; i++)
		inv_buf_putc(out, (char)(v >> (8 * i)));
}

void inv_encode_rle(struct inv_buf *out, const uint32_t *v, size_t n,
		    unsigned bits)
{
	size_t from = 0, at = 0; /* v[from] to v[at - 1] are to be packed */

	if (!n) /* v may be NULL */
		return;
	while (at < n) {
		size_t run = 1;

		while (at + run < n && v[at + run] == v[at])
			run++;
		/* A run can follow only a full group of 8 packed numbers. So
		 * the first numbers of the run are packed, too, until the group
		 * is full. */
		if ((at - from) % 8) {
			size_t fill = 8 - (at - from) % 8;

			at += run < fill ? run : fill;
			continue;
		}
		if (run < 8) {
			at += run;
			continue;
		}
		put_packed(out, v + from, at - from, bits);
		inv_encode_run(out, v[at], run, bits);
		at += run;
		from = at;
	}
	put_packed(out, v + from, n - from, bits);
}

/* --- differences ---------------------------------------------------------- */

#define BLOCK 128u
#define MINI 32u
#define MINIS (BLOCK / MINI)

static void zigzag(struct inv_buf *out, int64_t v)
{
	varint(out, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* Writes a block of n differences: first the least difference, and then by how
 * much each difference is greater. */
static void put_block(struct inv_buf *out, const int64_t *d, unsigned n)
{
	struct packer p = { .out = out };
	uint8_t bits[MINIS] = { 0 };
	int64_t least = d[0];
	size_t bytes = 0;

	for (unsigned i = 1; i < n; i++)
		if (d[i] < least)
			least = d[i];
	zigzag(out, least);
	for (unsigned i = 0; i < n; i++) {
		unsigned b = inv_encode_bits((uint64_t)d[i] - (uint64_t)least);

		if (b > bits[i / MINI])
			bits[i / MINI] = (uint8_t)b;
	}
	inv_buf_put(out, bits, sizeof(bits));
	for (unsigned i = 0; i < MINIS && i * MINI < n; i++)
		bytes += (size_t)MINI / 8 * bits[i];
	p.w = inv_buf_reserve(out, bytes);
	if (!p.w)
		return;
	for (unsigned i = 0; i < (n + MINI - 1) / MINI * MINI; i++)
		pack(&p, i < n ? (uint64_t)d[i] - (uint64_t)least : 0,
		     bits[i / MINI]);
	inv_buf_commit(out, bytes);
}

void inv_encode_delta(struct inv_buf *out, const int64_t *v, size_t n)
{
	int64_t d[BLOCK];
	unsigned m = 0;

	varint(out, BLOCK);
	varint(out, MINIS);
	varint(out, n);
	zigzag(out, n ? v[0] : 0);
	for (size_t i = 1; i < n; i++) {
		d[m++] = (int64_t)((uint64_t)v[i] - (uint64_t)v[i - 1]);
		if (m == BLOCK || i + 1 == n) {
			put_block(out, d, m);
			m = 0;
		}
	}
}
