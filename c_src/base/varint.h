/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_VARINT_H
#define INV_BASE_VARINT_H

#include <stdint.h>

/*
 * LEB128: seven bits in each byte, least significant first. The top bit is set
 * if more bytes follow. A number takes at most ten bytes. These functions
 * allocate no memory, so the VM's threads can call them.
 */
#define INV_VARINT_MAX 10

/* Writes v at p, which has space for INV_VARINT_MAX bytes. Returns a pointer to
 * the byte after the varint. */
static inline uint8_t *inv_varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Returns the number of bytes that inv_varint_put writes for v. */
static inline unsigned inv_varint_len(uint64_t v)
{
	unsigned n = 1;

	while (v >= 0x80) {
		v >>= 7;
		n++;
	}
	return n;
}

/*
 * Reads a varint from [p, end) into *v. Returns a pointer to the byte after the
 * varint, or NULL if the varint is incomplete or does not fit in 64 bits.
 */
static inline const uint8_t *inv_varint_get(const uint8_t *p,
					    const uint8_t *end, uint64_t *v)
{
	uint64_t r = 0;
	unsigned shift = 0;

	if (p < end && *p < 0x80) { /* a single byte is by far the most
				     * frequent case */
		*v = *p;
		return p + 1;
	}
	for (; p < end && shift < 64; shift += 7) {
		uint64_t b = *p++;

		if (shift == 63 && b > 1)
			return 0;
		r |= (b & 0x7f) << shift;
		if (b < 0x80) {
			*v = r;
			return p;
		}
	}
	return 0;
}

/* Maps signed to unsigned numbers: 0, -1, 1, -2, … become 0, 1, 2, 3, … */
static inline uint64_t inv_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t inv_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
