/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_HISTOGRAM_H
#define INV_FLOW_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "abi/buckets.h"

/*
 * A histogram of values, such as times of calls in ns. Buckets are those of
 * abi/buckets.h. A struct of zeros is valid, and has no values.
 */
struct inv_histogram {
	uint64_t n;	   /* values in buckets */
	uint64_t unpaired; /* calls without a value */
	uint64_t min;
	uint64_t max;
	uint64_t sum;
	/* private: each block has INV_BUCKETS numbers; NULL: all are 0 */
	uint64_t *blocks[INV_BUCKETS_BLOCKS];
};

void inv_histogram_release(struct inv_histogram *h);

/* Sets how many values the first n buckets of a block have. A bucket that
 * already has more values does not change. Returns 0, INV_ENOMEM, or INV_EINVAL
 * if there are no such buckets. */
int inv_histogram_set(struct inv_histogram *h, uint64_t block,
		      const uint64_t *values, size_t n);

/* Adds one value. Returns 0 or INV_ENOMEM. */
int inv_histogram_insert(struct inv_histogram *h, uint64_t v);

/* Adds another histogram. Returns 0 or INV_ENOMEM. After INV_ENOMEM, h is
 * incomplete. */
int inv_histogram_add(struct inv_histogram *h, const struct inv_histogram *o);

/* Returns how many values are in a bucket. */
static inline uint64_t inv_histogram_at(const struct inv_histogram *h,
					uint32_t block, uint32_t bucket)
{
	return h->blocks[block] ? h->blocks[block][bucket] : 0;
}

/* Returns a quantile with an error of at most 1.6 %: `part' thousandths of all
 * values are at most this large. Returns 0 if there are no values. */
uint64_t inv_histogram_quantile(const struct inv_histogram *h, unsigned part);

#endif
