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
	o->waits = calloc(merge->n_feeds + 1, sizeof(*o->waits));
	return o->waits ? 0 : INV_ENOMEM;
}

void inv_order_release(struct inv_order *o)
{
	free(o->waits);
	memset(o, 0, sizeof(*o));
}

/* Returns true if a log of the node has items that were not returned, so that a
 * send event of the node can still come. */
static bool can_come(const struct inv_order *o, uint64_t node)
{
	const struct inv_merge *m = o->merge;

	for (uint32_t i = 0; i < m->n_feeds; i++) {
		const struct inv_node *n = m->feeds[i]->node;

		if (inv_seq_node(n->name, strlen(n->name)) == node &&
		    inv_merge_has(m, n))
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

/* Lets logs go on whose message was sent meanwhile. */
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

/* Lets logs go on whose message can no longer come, because the log of its
 * sender has ended. */
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
				     inv_seq_node(n->name, strlen(n->name)) ==
					     w->seq.from_node);
		}
		if (!w->over && !waits_too && !can_come(o, w->seq.from_node))
			rc = resume(o, w, true);
	}
	return rc;
}

/* Lets the log go on that has waited for too many items, or, if all logs wait,
 * the one with the earliest item. */
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

/* Returns true if the item, which was just returned, must wait. */
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
	o->left = UINT32_MAX; /* perhaps the sender's log has ended */
	return true;
}

int inv_order_item(struct inv_order *o, struct inv_item **item)
{
	return must_wait(o, *item) ? inv_order_seek(o, item) : 0;
}

/* Lets logs go on that need not wait any more. */
static int check(struct inv_order *o)
{
	int rc = o->sent ? check_sent(o) : 0;

	o->sent = false;
	if (!rc && o->left != o->merge->heap.n)
		rc = check_ended(o);
	o->left = o->merge->heap.n;
	return rc ? rc : check_patience(o, !o->merge->heap.n);
}

int inv_order_seek(struct inv_order *o, struct inv_item **item)
{
	struct inv_order_wait *w;
	int rc;

	while (o->n_waits) {
		o->items++;
		rc = check(o);
		if (!rc)
			rc = inv_merge_next(o->merge, item);
		if (rc == INV_END)
			continue; /* all logs that have not ended wait */
		if (rc)
			return rc;
		w = wait_of(o, (*item)->feed);
		if (w) {
			*w = o->waits[--o->n_waits];
			o->sent = true;
			return 0;
		}
		if (!must_wait(o, *item))
			return 0;
	}
	return inv_merge_next(o->merge, item);
}
