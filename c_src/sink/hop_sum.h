/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_HOP_SUM_H
#define INV_SINK_HOP_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/hops.h"

/* The totals of a request. */
struct inv_hop_sum {
	uint32_t processes;
	uint32_t nodes;
	uint32_t messages;
	uint32_t not_received;
	uint32_t orphans;
	uint32_t uncertain;
	int64_t first_ns;
	int64_t last_ns;
};

/*
 * Computes the totals of requests, one request after the other. The time for a
 * request is proportional to the number of its hops.
 */
struct inv_hop_sums {
	const struct inv_hops *hops;
	/* private */
	uint32_t *seen; /* seen[i]: the value of n when process i was last
			 * counted; 0: never. Elements for nodes follow. */
	uint32_t n;	/* number of the current sum, from 1 */
};

/* Returns 0 or INV_ENOMEM. Call inv_hop_sums_release in both cases. */
int inv_hop_sums_init(struct inv_hop_sums *s, const struct inv_hops *h);
void inv_hop_sums_release(struct inv_hop_sums *s);

/* Sets *sum to the totals of the request whose root is given. */
void inv_hop_sum(struct inv_hop_sums *s, uint32_t root,
		 struct inv_hop_sum *sum);

/* Appends "12 processes, 3 nodes, 41 messages, 8.4 ms". */
void inv_hop_sum_text(const struct inv_hop_sum *sum, struct inv_buf *out);

#endif
