/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void inv_histogram_release(struct inv_histogram *h)
{
	for (uint32_t b = 0; b < INV_BUCKETS_BLOCKS; b++)
		free(h->blocks[b]);
	*h = (struct inv_histogram){ 0 };
}

static uint64_t *block_of(struct inv_histogram *h, uint64_t block)
{
	if (!h->blocks[block])
		h->blocks[block] = calloc(INV_BUCKETS, sizeof(uint64_t));
	return h->blocks[block];
}

int inv_histogram_set(struct inv_histogram *h, uint64_t block,
		      const uint64_t *values, size_t n)
{
	uint64_t *v;

	if (block >= INV_BUCKETS_BLOCKS || n > INV_BUCKETS)
		return INV_EINVAL;
	v = block_of(h, block);
	if (!v)
		return INV_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (values[i] <= v[i])
			continue;
		h->n += values[i] - v[i];
		v[i] = values[i];
	}
	return 0;
}

/* Extends the lowest and the highest value of h to those of o. A histogram
 * without values has no lowest and no highest value. */
static void add_limits(struct inv_histogram *h, const struct inv_histogram *o)
{
	if (!o->n)
		return;
	if (!h->n || o->min < h->min)
		h->min = o->min;
	if (!h->n || o->max > h->max)
		h->max = o->max;
}

int inv_histogram_insert(struct inv_histogram *h, uint64_t v)
{
	uint32_t bucket;
	uint64_t *values = block_of(h, inv_buckets_of(v, &bucket));

	if (!values)
		return INV_ENOMEM;
	values[bucket]++;
	if (!h->n || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->n++;
	h->sum += v;
	return 0;
}

int inv_histogram_add(struct inv_histogram *h, const struct inv_histogram *o)
{
	add_limits(h, o);
	h->n += o->n;
	h->unpaired += o->unpaired;
	h->sum += o->sum;
	for (uint32_t b = 0; b < INV_BUCKETS_BLOCKS; b++) {
		uint64_t *v;

		if (!o->blocks[b])
			continue;
		v = block_of(h, b);
		if (!v)
			return INV_ENOMEM;
		for (uint32_t i = 0; i < INV_BUCKETS; i++)
			v[i] += o->blocks[b][i];
	}
	return 0;
}

/* Returns the middle of a bucket, but not less than the lowest value and not
 * more than the highest value. */
static uint64_t middle(const struct inv_histogram *h, uint32_t block,
		       uint32_t bucket)
{
	uint64_t width;
	uint64_t v = inv_buckets_low(block, bucket, &width) + width / 2;

	if (v < h->min)
		return h->min;
	return v > h->max && h->max ? h->max : v;
}

/* Returns part/1000 of n, rounded up, and at least 1. */
static uint64_t rank_of(uint64_t n, unsigned part)
{
	uint64_t rank = n / 1000 * part + (n % 1000 * part + 999) / 1000;

	return rank ? rank : 1;
}

uint64_t inv_histogram_quantile(const struct inv_histogram *h, unsigned part)
{
	uint64_t rank = rank_of(h->n, part);
	uint64_t seen = 0;

	for (uint32_t b = 0; b < INV_BUCKETS_BLOCKS; b++) {
		for (uint32_t i = 0; h->blocks[b] && i < INV_BUCKETS; i++) {
			seen += h->blocks[b][i];
			if (h->blocks[b][i] && seen >= rank)
				return middle(h, b, i);
		}
	}
	return h->max;
}
