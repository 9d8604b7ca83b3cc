/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TOTALS_H
#define INV_SINK_TOTALS_H

#include <stdint.h>

#include "base/buf.h"
#include "log/item.h"

/*
 * How many events of which tag each node has, and how many were lost.  All
 * zero is none.
 */
struct inv_totals {
	struct inv_totals_node *v; /* by the nodes' numbers */
	uint32_t n;
};

/* INV_ENOMEM. */
int inv_totals_add(struct inv_totals *t, const struct inv_item *it);

/* "-- a@h: 12 events, 2 lost: 7 call, 5 return_from", a line a node, the tags
 * that it has most of first. */
void inv_totals_text(const struct inv_totals *t, struct inv_buf *out);

void inv_totals_release(struct inv_totals *t);

#endif
