/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TOTALS_H
#define INV_SINK_TOTALS_H

#include <stdint.h>

#include "base/buf.h"
#include "log/item.h"

/* Counts of events by node and tag, and of losses by node. A struct of zeros is
 * valid. */
struct inv_totals {
	struct inv_totals_node *v; /* indexed by the nodes' numbers */
	uint32_t n;
};

/* Returns 0 or INV_ENOMEM. */
int inv_totals_add(struct inv_totals *t, const struct inv_item *it);

/* Appends one line for each node, "-- a@h: 12 events, 2 lost: 7 call, 5
 * return_from", with the most frequent tags first. */
void inv_totals_text(const struct inv_totals *t, struct inv_buf *out);

void inv_totals_release(struct inv_totals *t);

#endif
