/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/hop_rows.h"

#include <stdint.h>
#include <stdlib.h>

bool *inv_hop_splits(const struct inv_hops *h)
{
	/* last[i]: the last event of process i so far. */
	uint64_t *last = calloc(h->n_processes + 1u, sizeof(*last));
	bool *split = calloc(h->n + 1u, sizeof(*split));

	for (size_t n = 0; last && split && n < h->n_events; n++) {
		const struct inv_hop_event *e = &h->events[n];
		const struct inv_hop *p = &h->v[e->hop];
		uint32_t process = e->id == p->send_id ? p->from : p->to;

		if (process == INV_HOP_NONE)
			continue;
		if (e->id == p->receive_id && p->send_id)
			split[e->hop] = last[process] > p->send_id;
		last[process] = e->id;
	}
	if (!last) {
		free(split);
		split = NULL;
	}
	free(last);
	return split;
}
