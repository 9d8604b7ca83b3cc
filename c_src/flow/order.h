/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_ORDER_H
#define INV_FLOW_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/likely.h"
#include "flow/clocks.h"
#include "flow/flow.h"
#include "log/merge.h"

/*
 * Merged items in causal order: a message of a sequential trace is received
 * after it was sent, whatever the clocks of the two nodes say. All other items
 * keep the order of the merge.
 *
 * If a receive event comes before its send event, and the send event is in the
 * log of another node, the log of the receiver waits. Meanwhile items of the
 * other logs are returned. A waiting log takes no memory: its next item stays
 * in the log. A log waits until the send event comes, or cannot come any more,
 * or until `ahead' items of other logs were returned.
 *
 * Times are corrected, too. First, clocks that contradict the messages between
 * their nodes are corrected (flow/clocks.h). Remaining contradictions are
 * removed by a controlled logical clock: an event that would be earlier than
 * its cause is moved to a time after the cause. The later events of its node
 * are moved, too, by less and less. So events are moved only forward, and the
 * time between two events of a node becomes shorter by at most
 * 1/INV_ORDER_DECAY.
 *
 * 	inv_order_init(&o, &merge, &flow);
 * 	while (!inv_order_next(&o, &item)) {
 * 		item = inv_flow_item(&flow, item);
 * 		...
 */
#define INV_ORDER_AHEAD UINT64_C(1000000)
#define INV_ORDER_DECAY 128

struct inv_order_wait {
	uint32_t feed;
	bool over;	    /* the wait is over: the merge will return the log's
			       next item */
	uint64_t since;	    /* how many items were returned before the wait */
	struct inv_seq seq; /* the received message */
};

/* How far the events of a node are moved, from the time `at' on. */
struct inv_order_shift {
	int64_t by;
	int64_t at;
};

struct inv_order {
	uint64_t ahead; /* how many items of other logs are returned before a
			   wait is given up; the caller may change it */
	/* Compares the clocks of all nodes; for this it reads all logs. It is
	 * called at the first event of a sequential trace. Returns 0 or
	 * INV_ENOMEM. NULL: clocks are not compared. */
	int (*compare)(void *arg, struct inv_clocks *clocks);
	void *compare_arg;
	/* results */
	uint64_t waited;    /* events for which a log waited */
	uint64_t given_up;  /* of these, events whose send event did not come */
	uint64_t moved;	    /* events that the logical clock moved */
	int64_t moved_most; /* the longest of these moves, in ns */
	struct inv_clocks clocks;
	/* private */
	struct inv_merge *merge;
	struct inv_flow *flow;
	struct inv_order_wait *waits; /* at most one for each feed */
	uint32_t n_waits;
	struct inv_order_shift *shifts; /* shifts[i]: of the node with the
					   number i */
	uint32_t n_nodes;
	uint32_t n_shifts; /* nodes whose events are moved */
	uint32_t left;	   /* feeds that had items when check() last looked */
	bool sent;	   /* a send event may have been returned since check()
			      last looked */
	bool compared;
	uint64_t items;
};

/* Returns 0 or INV_ENOMEM. Borrows merge and flow. All feeds of the merge must
 * be files. */
int inv_order_init(struct inv_order *o, struct inv_merge *merge,
		   struct inv_flow *flow);
void inv_order_release(struct inv_order *o);

/*
 * Compares the clocks now, and not only at the first seq_trace event. Returns 0
 * or INV_ENOMEM.
 */
int inv_order_compare(struct inv_order *o);

/* The slow paths of inv_order_next: inv_order_seek finds the next item that
 * need not wait; inv_order_item handles a seq_trace event, which may have to
 * wait. */
int inv_order_seek(struct inv_order *o, struct inv_item **item);
int inv_order_item(struct inv_order *o, struct inv_item **item);

/* Like inv_merge_next. */
static inline int inv_order_next(struct inv_order *o, struct inv_item **item)
{
	int rc;

	if (inv_unlikely(o->n_waits + o->n_shifts))
		return inv_order_seek(o, item);
	rc = inv_merge_next(o->merge, item);
	if (inv_unlikely(!rc && (*item)->ev.tag == INV_TAG_SEQ_TRACE &&
			 (*item)->kind == INV_ITEM_EVENT))
		return inv_order_item(o, item);
	return rc;
}

#endif
