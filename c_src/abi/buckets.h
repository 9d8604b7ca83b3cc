/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_BUCKETS_H
#define INV_ABI_BUCKETS_H

#include <stdint.h>

/*
 * The buckets of a histogram of times, in nodes and in logs. A block covers
 * the values from one power of two to the next. All blocks have the same number
 * of buckets, and all buckets of one block have the same width. A bucket of
 * width w > 1 contains only values of at least 32 w. So the middle of a bucket
 * differs from every value in the bucket by at most 1/64 of the value, 1.6 %.
 *
 * 	block 0: 0, 1, ... 31          width 1
 * 	block 1: 32, 33, ... 63        width 1
 * 	block 2: 64-65, ... 126-127    width 2
 * 	...
 */
#define INV_BUCKETS_BITS 5
#define INV_BUCKETS 32u	       /* buckets of a block */
#define INV_BUCKETS_BLOCKS 60u /* enough blocks for all values of 64 bits */

/* Returns the number of a value's block, and in *bucket the number of the
 * value's bucket in this block. */
static inline uint32_t inv_buckets_of(uint64_t v, uint32_t *bucket)
{
	uint32_t log;

	if (v < INV_BUCKETS) {
		*bucket = (uint32_t)v;
		return 0;
	}
	log = 63 - (uint32_t)__builtin_clzll(v);
	*bucket = (uint32_t)(v >> (log - INV_BUCKETS_BITS)) & (INV_BUCKETS - 1);
	return log - INV_BUCKETS_BITS + 1;
}

/* Returns the lowest value of a bucket, and its width. */
static inline uint64_t inv_buckets_low(uint32_t block, uint32_t bucket,
				       uint64_t *width)
{
	if (block == 0) {
		*width = 1;
		return bucket;
	}
	*width = UINT64_C(1) << (block - 1);
	return (uint64_t)(INV_BUCKETS + bucket) << (block - 1);
}

#endif
