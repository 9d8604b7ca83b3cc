/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_STARTED_H
#define INV_CLI_STARTED_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/flow.h"

/*
 * Which requests began with an event that a session has recorded as their
 * beginning. Others have only tokens: they began beyond the limit, or were not
 * sampled, and the VM cannot always prevent their tokens (nif/starts.h).
 *
 * The beginning is a call or a sent message whose match spec has the value
 * {'$inviso_seq', Token, ...} (flow/labels.h). The first event of the request is
 * the next one of the same process.
 */
struct inv_started_process;

struct inv_started {
	uint64_t wanted; /* requests so far that began like this */
	bool over;	 /* the last item says only that the request of its
			    process has ended: it is for inviso itself */
	/* private */
	struct inv_cursor *cursor;
	struct inv_started_process *begun; /* they have not sent yet */
	bool *is_wanted;		   /* by number of the request */
	uint64_t n;
	bool lost; /* events were lost, so beginnings may be missing */
};

/* Returns 0 or INV_ENOMEM; release it also then. */
int inv_started_init(struct inv_started *s);
void inv_started_release(struct inv_started *s);

/* Reads an item before inv_flow_item. Returns 0 or INV_ENOMEM. */
int inv_started_item(struct inv_started *s, const struct inv_item *it);

/*
 * Returns true if the request of a seq_trace item began like this. seq: what
 * inv_flow_seq returned for the item. After inv_flow_item.
 */
bool inv_started_wants(struct inv_started *s, const struct inv_item *it,
		       const struct inv_seq *seq);

#endif
