/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_STARTED_H
#define INV_CLI_STARTED_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/flow.h"

/*
 * Finds out which requests began with an event that a session has recorded as
 * their beginning. Other requests began beyond the limit, or were not sampled.
 * The session did not record their beginning, but it could not prevent their
 * tokens (nif/starts.h).
 *
 * The beginning is a call or a sent message to which a match spec has added the
 * value {'$inviso_seq', Token, ...} (flow/labels.h). The first event of the
 * request itself is the next seq_trace event of the same process.
 */
struct inv_started_process;

struct inv_started {
	uint64_t wanted; /* requests so far that began with a recorded event */
	bool over;	 /* the item that was read last only marks the end of a
			  * request for its process, so it is not shown */
	/* private */
	struct inv_cursor *cursor;
	struct inv_started_process *begun; /* the processes whose request has
					      begun, but which have not sent
					      yet */
	bool *is_wanted;		   /* is_wanted[i] is for request i */
	uint64_t n;
	bool lost; /* events were lost, so beginnings may be missing */
};

/* Returns 0 or INV_ENOMEM; release s in both cases. */
int inv_started_init(struct inv_started *s);
void inv_started_release(struct inv_started *s);

/* Reads an item. Call this before inv_flow_item gets the item. Returns 0 or
 * INV_ENOMEM. */
int inv_started_item(struct inv_started *s, const struct inv_item *it);

/*
 * Returns true if the request of a seq_trace item began with a recorded event.
 * seq is the result of inv_flow_seq for the item. Call it after inv_flow_item.
 */
bool inv_started_wants(struct inv_started *s, const struct inv_item *it,
		       const struct inv_seq *seq);

#endif
