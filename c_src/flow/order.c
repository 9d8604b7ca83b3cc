/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/order.h"

#include <stdlib.h>
#include <string.h>

int inv_order_init(struct inv_order *o, struct inv_merge *merge,
		   struct inv_flow *flow)
{
	memset(o, 0, sizeof(*o));
	o->ahead = INV_ORDER_AHEAD;
	o->merge = merge;
	o->flow = flow;
	for (uint32_t i = 0; i < merge->n_feeds; i++)
		if (merge->feeds[i]->node->number >= o->n_nodes)
			o->n_nodes = merge->feeds[i]->node->number + 1;
	o->waits = calloc(merge->n_feeds + 1, sizeof(*o->waits));
	o->shifts = calloc(o->n_nodes + 1, sizeof(*o->shifts));
	return o->waits && o->shifts ? 0 : INV_ENOMEM;
}

void inv_order_release(struct inv_order *o)
{
	inv_clocks_release(&o->clocks);
	free(o->shifts);
	free(o->waits);
	memset(o, 0, sizeof(*o));
}

/* Returns true if a send event of the node can still come, because a log of the
 * node has items that were not returned yet. */
static bool can_come(const struct inv_order *o, uint64_t node)
{
	const struct inv_merge *m = o->merge;

	for (uint32_t i = 0; i < m->n_feeds; i++) {
		const struct inv_node *n = m->feeds[i]->node;

		if (inv_seq_home(n) == node && inv_merge_has(m, n))
			return true;
	}
	return false;
}

static int resume(struct inv_order *o, struct inv_order_wait *w, bool given_up)
{
	w->over = true;
	o->given_up += given_up;
	return inv_merge_resume(o->merge, w->feed);
}

/* If an awaited send event has come, ends the wait of the log that waits for
 * this event. */
static int check_sent(struct inv_order *o)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < o->n_waits; i++) {
		struct inv_order_wait *w = &o->waits[i];

		if (!w->over && inv_requests_ready(&o->flow->requests, &w->seq))
			rc = resume(o, w, false);
	}
	return rc;
}

/* If an awaited send event can no longer come, ends the wait of the log that
 * waits for this event. The event can no longer come if all logs of the
 * sender's node have ended. A log of the sender's node that is waiting itself
 * does not count as ended. */
static int check_ended(struct inv_order *o)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < o->n_waits; i++) {
		struct inv_order_wait *w = &o->waits[i];
		bool waits_too = false;

		for (uint32_t j = 0; j < o->n_waits; j++) {
			const struct inv_node *n =
				o->merge->feeds[o->waits[j].feed]->node;

			waits_too = waits_too ||
				    (!o->waits[j].over &&
				     inv_seq_home(n) == w->seq.from_node);
		}
		if (!w->over && !waits_too && !can_come(o, w->seq.from_node))
			rc = resume(o, w, true);
	}
	return rc;
}

/* Ends the wait of a log if too many items of other logs were returned since
 * the wait began. If all logs wait, ends the wait of the log with the earliest
 * item. */
static int check_patience(struct inv_order *o, bool all_wait)
{
	struct inv_order_wait *first = NULL;

	for (uint32_t i = 0; i < o->n_waits; i++) {
		struct inv_order_wait *w = &o->waits[i];

		if (w->over || (!all_wait && o->items - w->since < o->ahead))
			continue;
		if (!first || o->merge->feeds[w->feed]->item.ts_ns <
				      o->merge->feeds[first->feed]->item.ts_ns)
			first = w;
	}
	return first ? resume(o, first, true) : 0;
}

/* Returns the feed's wait, or NULL. */
static struct inv_order_wait *wait_of(struct inv_order *o, uint32_t feed)
{
	for (uint32_t i = 0; i < o->n_waits; i++)
		if (o->waits[i].feed == feed)
			return &o->waits[i];
	return NULL;
}

/* --- times ---------------------------------------------------------------- */

static void adjust(void *arg, struct inv_item *item)
{
	int64_t ts = inv_clocks_correct(arg, item->node->number, item->ts_ns);

	item->moved_ns = (int64_t)((uint64_t)ts - (uint64_t)item->ts_ns);
	item->ts_ns = ts;
}

int inv_order_compare(struct inv_order *o)
{
	int rc;

	if (o->compared)
		return 0;
	o->compared = true;
	if (!o->compare || o->n_nodes < 2)
		return 0;
	rc = inv_clocks_init(&o->clocks, o->n_nodes);
	if (!rc)
		rc = o->compare(o->compare_arg, &o->clocks);
	if (!rc && o->clocks.corrects)
		inv_merge_adjust(o->merge, adjust, &o->clocks);
	return rc;
}

static void move(struct inv_order *o, struct inv_item *it, int64_t by)
{
	it->ts_ns = (int64_t)((uint64_t)it->ts_ns + (uint64_t)by);
	it->moved_ns = (int64_t)((uint64_t)it->moved_ns + (uint64_t)by);
	o->moved++;
	if (by > o->moved_most)
		o->moved_most = by;
}

/* Returns how far an event of the node at this time is moved, in ns. */
static int64_t shift_at(struct inv_order *o, struct inv_order_shift *x,
			int64_t ts_ns)
{
	uint64_t passed = ts_ns > x->at ? (uint64_t)ts_ns - (uint64_t)x->at : 0;
	int64_t by = x->by - (int64_t)(passed / INV_ORDER_DECAY);

	if (x->by && by <= 0) {
		o->n_shifts--;
		x->by = 0;
	}
	return x->by ? by : 0;
}

/* Call this before an item is returned. If necessary, moves the item's time
 * forward, so that the item is later than its cause, and not earlier than the
 * previous items of its node. */
static void correct(struct inv_order *o, struct inv_item *it)
{
	struct inv_order_shift *x = &o->shifts[it->node->number];
	int64_t by = shift_at(o, x, it->ts_ns);
	int64_t sent_ns, late;

	if (it->kind == INV_ITEM_EVENT && it->ev.tag == INV_TAG_SEQ_TRACE &&
	    o->flow->seq_of == it && o->flow->seq.kind == INV_SEQ_RECEIVE &&
	    inv_requests_sent(&o->flow->requests, &o->flow->seq, &sent_ns) &&
	    !__builtin_sub_overflow(sent_ns, it->ts_ns, &late) && late >= by) {
		if (!x->by)
			o->n_shifts++;
		by = late < INT64_MAX ? late + 1 : late;
		*x = (struct inv_order_shift){ by, it->ts_ns };
	}
	if (by)
		move(o, it, by);
}

/* --- items ---------------------------------------------------------------- */

/* `item' is the item that the merge has just returned. Returns true if it must
 * wait. */
static bool must_wait(struct inv_order *o, const struct inv_item *item)
{
	const struct inv_seq *s;
	struct inv_order_wait *w;

	if (item->kind != INV_ITEM_EVENT || item->ev.tag != INV_TAG_SEQ_TRACE)
		return false;
	o->sent = true;
	s = inv_flow_seq(o->flow, item);
	if (!s || s->kind != INV_SEQ_RECEIVE ||
	    inv_requests_ready(&o->flow->requests, s))
		return false;
	w = &o->waits[o->n_waits++];
	*w = (struct inv_order_wait){ .since = o->items, .seq = *s };
	w->feed = inv_merge_hold(o->merge);
	o->waited++;
	o->left = UINT32_MAX; /* so that check() finds out whether the sender's
				 log has ended */
	return true;
}

int inv_order_item(struct inv_order *o, struct inv_item **item)
{
	if (inv_unlikely(!o->compared)) {
		int rc = inv_order_compare(o);

		if (rc)
			return rc;
		/* The comparison of the clocks has changed the times of items,
		 * so another item can be the earliest now. */
		if (o->merge->adjust)
			return inv_order_next(o, item);
	}
	if (must_wait(o, *item))
		return inv_order_seek(o, item);
	correct(o, *item);
	return 0;
}

/* Ends the wait of each log that need not wait any more. */
static int check(struct inv_order *o)
{
	int rc = o->sent ? check_sent(o) : 0;

	o->sent = false;
	if (!rc && o->left != o->merge->heap.n)
		rc = check_ended(o);
	o->left = o->merge->heap.n;
	return rc ? rc : check_patience(o, !o->merge->heap.n);
}

/* If the item's log has waited until this item could be returned, removes the
 * wait and returns true. */
static bool ends_wait(struct inv_order *o, const struct inv_item *item)
{
	struct inv_order_wait *w = wait_of(o, item->feed);

	if (!w)
		return false;
	*w = o->waits[--o->n_waits];
	o->sent = true;
	/* Reads the serial of the event, for the logical clock. */
	inv_flow_seq(o->flow, item);
	return true;
}

int inv_order_seek(struct inv_order *o, struct inv_item **item)
{
	int rc;

	do {
		o->items++;
		rc = o->n_waits ? check(o) : 0;
		if (!rc)
			rc = inv_merge_next(o->merge, item);
		if (rc == INV_END && o->n_waits)
			continue; /* each log waits or has ended */
		if (rc)
			return rc;
		if (ends_wait(o, *item) || !must_wait(o, *item)) {
			correct(o, *item);
			return 0;
		}
	} while (true);
}
