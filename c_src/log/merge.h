/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_MERGE_H
#define INV_LOG_MERGE_H

#include <stdint.h>

#include "log/feed.h"
#include "log/heap.h"

/*
 * Many feeds as one, by time; of equal times the feed that was given first.
 * Within a feed the order is its own, even where its clock jumped back.
 */
struct inv_merge {
	struct inv_feed **feeds; /* borrowed */
	struct inv_merge_heap heap;
	uint32_t n_feeds;
	bool started;
};

/* INV_ENOMEM. */
int inv_merge_init(struct inv_merge *m, struct inv_feed **feeds,
		   uint32_t n_feeds);
void inv_merge_release(struct inv_merge *m);

/* The next item, good until the next call: 0, INV_END, or INV_ENOMEM. */
int inv_merge_next(struct inv_merge *m, const struct inv_item **item);

#endif
