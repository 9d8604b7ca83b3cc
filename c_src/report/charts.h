/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_REPORT_CHARTS_H
#define INV_REPORT_CHARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/hops.h"

/*
 * The slowest requests with their hops, for sequence charts. While requests
 * run, the hops of at most INV_CHARTS_LIVE requests are collected. If another
 * request begins, no more hops are collected of the request whose last event is
 * the oldest. This request is kept if it is one of the INV_CHARTS_KEPT slowest
 * so far.
 */
#define INV_CHARTS_LIVE 128u
#define INV_CHARTS_KEPT 20u
/* The bound of the memory for the hops of one request. */
#define INV_CHARTS_MEMORY ((size_t)1 << 20)

struct inv_chart {
	uint64_t request;
	int64_t first_ns, last_ns;
	uint64_t used; /* the value of `clock' in struct inv_charts when this
			  request had its last event */
	struct inv_hops hops;
};

struct inv_charts {
	struct inv_chart *kept[INV_CHARTS_KEPT]; /* after inv_charts_finish:
						    the slowest first */
	size_t n_kept;
	/* private */
	struct inv_chart *live[INV_CHARTS_LIVE];
	size_t n_live;
	size_t last; /* the request that was found last */
	uint64_t clock;
};

void inv_charts_release(struct inv_charts *c);

/* Adds an event that went through the flow. Items without a cause are ignored.
 * Returns 0 or INV_ENOMEM. */
int inv_charts_add(struct inv_charts *c, const struct inv_item *it,
		   const struct inv_print_opts *o);

/* Call it once, after the last event. Returns 0 or INV_ENOMEM. */
int inv_charts_finish(struct inv_charts *c);

#endif
