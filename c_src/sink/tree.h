/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TREE_H
#define INV_SINK_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/hops.h"
#include "sink/hop_sum.h"

/*
 * Prints requests as trees, a line for each hop:
 *
 * 	request 1, label 17, began 2026-11-23 10:37:44.000123
 * 	   #        time   mailbox   handler
 * 	   1 *    0.0 us              0.0 us  a <0.112.0> began
 * 	   2 *    0.0 us   16.1 us    4.2 us  └─a shop {call,{<0.112.0>,...
 *
 * For files (inviso merge --request) and for live requests: collect the events
 * of a request in a struct inv_hops, and print it when the request has ended.
 *
 * 	inv_hops_init(&h, 0);
 * 	inv_hops_add(&h, item, &print);          for each event of the request
 * 	inv_hops_finish(&h);
 * 	inv_tree_put(&h, &opts, &out);
 * 	inv_hops_release(&h);
 *
 * The first column is the number of the line. `time' is the time from the
 * beginning of the request until the message was sent. `mailbox' is the time
 * until the process took the message from its mailbox. `handler' is the time
 * from then until the last event of the process in this turn. `*': the hop is
 * on the critical path. `?': the cause of the hop is not certain. `~': the time
 * depends on the clocks of two nodes, and includes the network.
 *
 * A line belongs to the process of the nearest line above it that is indented
 * less. Normally the cause of a line is the last message that this process
 * received in a line above. If the cause is another line, the line says
 * `after N', where N is the number of that other line. So the actions of a
 * process after an answer are indented like its actions before the call, and a
 * sequence of calls is not a staircase.
 *
 * If a filter has removed hops between a line and its cause, the line says how
 * many, and which process sent the message.
 */
struct inv_tree_opts {
	bool utc; /* the time in the head in UTC instead of local time */
	bool color;
	unsigned width; /* longer lines are cut; 0: no limit */
};

/* Prints all requests in h. Returns 0 or INV_ENOMEM. */
int inv_tree_put(const struct inv_hops *h, const struct inv_tree_opts *o,
		 struct inv_buf *out);

/*
 * Like inv_tree_put, but prints JSON with one object in each line: an object
 * for each hop, and then an object with the totals of the request.
 */
int inv_tree_json(const struct inv_hops *h, struct inv_buf *out);

/* --- how the hops are laid out -------------------------------------------- */

/* Where the line of a hop is. */
struct inv_tree_line {
	uint32_t number;  /* from 1; 0: not laid out yet */
	uint32_t belongs; /* index of the hop below which this hop is shown (the
			   * parent's `anchor'); INV_HOP_NONE: this hop is a
			   * root */
	uint32_t anchor;  /* the hop to which the children of this hop belong:
			   * the nearest hop above this hop that goes to the
			   * same process or, if there is none, this hop */
	uint32_t first;	  /* the first of the hops that belong to this hop */
	uint32_t last;
	uint32_t next; /* the next hop that belongs to the same hop */
	uint32_t depth;
	uint32_t turn; /* only in an anchor: the hop that its process received
			* last */
	bool after;    /* the line shows the parent's number, "(after N)",
			  because the parent is not the hop that the process
			  received last */
};

struct inv_tree {
	const struct inv_hops *hops;
	struct inv_tree_line *lines; /* lines[i] is the line of hop i */
	uint32_t *order;	     /* hops, in the order of lines */
	uint32_t n;
	struct inv_hop_sums sums;
};

/* Lays out all hops. Returns 0 or INV_ENOMEM; release the layout in both
 * cases. */
int inv_tree_layout(struct inv_tree *t, const struct inv_hops *h);
void inv_tree_release(struct inv_tree *t);

#endif
