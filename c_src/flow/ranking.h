/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_RANKING_H
#define INV_FLOW_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/flow.h"
#include "flow/histogram.h"
#include "flow/tallies.h"

/*
 * Adds up and sorts what was counted and timed (flow/tallies.h):
 *
 * 	struct inv_ranking r;
 *
 * 	if (!inv_ranking_make(&r, &tallies, &flow, &opts))
 * 		for (size_t i = 0; i < r.n; i++)
 * 			... r.v[i].key->key, r.v[i].n, r.v[i].quantiles ...
 * 	inv_ranking_release(&r);
 *
 * The ranking is valid until the next call of inv_tallies_item.
 */
enum inv_quantile {
	INV_P50,
	INV_P90,
	INV_P99,
	INV_P999,
	INV_QUANTILES
};

/* The value by which ranks are sorted, the highest first. */
enum inv_rank_by {
	INV_RANK_COUNT,
	INV_RANK_P50, /* in the order of enum inv_quantile */
	INV_RANK_P90,
	INV_RANK_P99,
	INV_RANK_P999,
	INV_RANK_MAX,
	INV_RANK_SUM,
};

struct inv_ranking_opts {
	bool by_node;	 /* true: equal keys of different nodes are not added
			    up. False: they are added up, but processes of
			    different nodes only if `kinds' is set */
	bool nodes_only; /* add up all keys of a node: the result has one
			    rank for each node */
	bool kinds;	 /* processes of the same name are added up, such as
			    those that were spawned to run the same function */
	enum inv_rank_by by;
};

struct inv_rank {
	const struct inv_tallied *key; /* the key; if several nodes were
					  added up, that of the first node */
	bool one_node;		       /* false: several nodes may have been
					  added up */
	/* The name of a process. Empty if the name is unknown, or if the key
	 * is no process. */
	char *name;
	uint64_t processes; /* if `kinds' is set: how many processes were added
			       up */
	uint64_t n; /* how many events; or how many calls, including calls whose
		       time is unknown */
	const struct inv_histogram *times; /* NULL: calls were counted, not
					      timed */
	uint64_t quantiles[INV_QUANTILES];
	struct inv_histogram *sum; /* private: the sum, if several keys
				    * were added up */
};

struct inv_ranking {
	struct inv_rank *v;
	size_t n;
};

/* Returns 0 or INV_ENOMEM. Call inv_ranking_release in both cases. */
int inv_ranking_make(struct inv_ranking *r, const struct inv_tallies *t,
		     struct inv_flow *flow, const struct inv_ranking_opts *o);
void inv_ranking_release(struct inv_ranking *r);

#endif
