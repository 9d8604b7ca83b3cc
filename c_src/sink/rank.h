/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_RANK_H
#define INV_SINK_RANK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/json.h"
#include "flow/ranking.h"

/* The names of ranks in tables and in JSON. A rank is a key with its count or
 * times in the sorted result (flow/ranking.h). */

/* Appends the name of a rank, such as "shop:order/2", "<0.9.0> cart  n@h" or
 * "(others, beyond the bound)". If the rank has values of an expression, the
 * expression follows: "shop:order/2, length(A1)". */
void inv_rank_text(const struct inv_ranking_opts *o,
		   const struct inv_flow *flow, const struct inv_rank *r,
		   struct inv_buf *b);

/* Appends the members key, kind, node and name of the rank to an object. */
void inv_rank_json(const struct inv_ranking_opts *o, const struct inv_rank *r,
		   struct inv_json *j);

/* Appends "... and 12 more (--top 0 shows all)", if not all ranks are shown. */
void inv_rank_more(size_t shown, size_t all, struct inv_buf *b);

/* Returns how many of n ranks are shown; top 0: all. */
static inline size_t inv_rank_shown(size_t n, uint64_t top)
{
	return top && top < n ? (size_t)top : n;
}

#endif
