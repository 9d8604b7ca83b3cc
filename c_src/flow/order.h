/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_ORDER_H
#define INV_FLOW_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/likely.h"
#include "flow/flow.h"
#include "log/merge.h"

/*
 * Merged items in causal order: a message of a sequential trace is received
 * after it was sent, whatever the clocks of the two nodes say. All other items
 * keep the order of the merge.
 *
 * If the send event of a received message is in the log of another node, and was
 * not returned yet, the log of the receiver waits, and the other logs go on. A
 * waiting log takes no memory: its next item stays where it is. A log waits until
 * the send event comes, or cannot come any more, or until `ahead' items of other
 * logs were returned.
 *
 *	inv_order_init(&o, &merge, &flow);
 *	while (!inv_order_next(&o, &item)) {
 *		item = inv_flow_item(&flow, item);
 *		...
 */
#define INV_ORDER_AHEAD UINT64_C(1000000)

struct inv_order_wait {
	uint32_t feed;
	bool over;	    /* its item was given back to the merge */
	uint64_t since;	    /* how many items were returned before */
	struct inv_seq seq; /* the received message */
};

struct inv_order {
	uint64_t ahead; /* the caller may change it */
	/* results */
	uint64_t waited;   /* events for which a log waited */
	uint64_t given_up; /* of those: events whose send event did not come */
	/* private */
	struct inv_merge *merge;
	struct inv_flow *flow;
	struct inv_order_wait *waits; /* for each feed at most one */
	uint32_t n_waits;
	uint32_t left; /* feeds that had items when this was last checked */
	bool sent;     /* a message may have been sent since then */
	uint64_t items;
};

/* Returns 0 or INV_ENOMEM. Borrows both. All feeds must be files. */
int inv_order_init(struct inv_order *o, struct inv_merge *merge,
		   struct inv_flow *flow);
void inv_order_release(struct inv_order *o);

/* The slow paths of inv_order_next: the next item, and an item that may have to
 * wait. */
int inv_order_seek(struct inv_order *o, struct inv_item **item);
int inv_order_item(struct inv_order *o, struct inv_item **item);

/* Like inv_merge_next. */
static inline int inv_order_next(struct inv_order *o, struct inv_item **item)
{
	int rc;

	if (inv_unlikely(o->n_waits))
		return inv_order_seek(o, item);
	rc = inv_merge_next(o->merge, item);
	if (inv_unlikely(!rc && (*item)->ev.tag == INV_TAG_SEQ_TRACE &&
			 (*item)->kind == INV_ITEM_EVENT))
		return inv_order_item(o, item);
	return rc;
}

#endif
