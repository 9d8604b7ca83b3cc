/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_PARQUET_ENCODE_H
#define INV_PARQUET_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The encodings of Parquet that the writer uses. All append to out. */

/* RLE, for numbers below 1 << bits: runs of one value, and packed bits. `bits'
 * may be 0 to 32. */
void inv_encode_rle(struct inv_buf *out, const uint32_t *v, size_t n,
		    unsigned bits);
/* Like inv_encode_rle, for n numbers that are all v. n must not be 0. */
void inv_encode_run(struct inv_buf *out, uint32_t v, size_t n, unsigned bits);
/* DELTA_BINARY_PACKED: the differences between successive numbers, in blocks of
 * 128. */
void inv_encode_delta(struct inv_buf *out, const int64_t *v, size_t n);

/* Returns how many bits v takes without leading zeros; 0 if v is 0. */
static inline unsigned inv_encode_bits(uint64_t v)
{
	return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}

#endif
