/* SPDX-License-Identifier: Apache-2.0 */
#include "log/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/likely.h"

int inv_merge_init(struct inv_merge *m, struct inv_feed **feeds,
		   uint32_t n_feeds)
{
	memset(m, 0, sizeof(*m));
	m->feeds = feeds;
	m->n_feeds = n_feeds;
	m->began_ms = m->last_ns = INT64_MIN;
	m->empty = calloc(n_feeds ? n_feeds : 1, sizeof(*m->empty));
	if (!m->empty || !inv_merge_heap_init(&m->heap, n_feeds))
		return INV_ENOMEM;
	for (; m->n_empty < n_feeds; m->n_empty++) {
		m->empty[m->n_empty] = m->n_empty;
		feeds[m->n_empty]->lazy = feeds[m->n_empty]->ops->load != NULL;
	}
	return 0;
}

void inv_merge_release(struct inv_merge *m)
{
	inv_merge_heap_release(&m->heap);
	free(m->empty);
	memset(m, 0, sizeof(*m));
}

int64_t inv_merge_first(const struct inv_merge *m)
{
	int64_t first = INT64_MAX;

	for (uint32_t i = 0; i < m->n_feeds; i++)
		if (m->feeds[i]->first_ns < first)
			first = m->feeds[i]->first_ns;
	return first;
}

void inv_merge_limit(struct inv_merge *m, int64_t from_ns, int64_t until_ns)
{
	for (uint32_t i = 0; i < m->n_feeds; i++)
		if (m->feeds[i]->ops->limit)
			m->feeds[i]->ops->limit(m->feeds[i], from_ns, until_ns);
}

/* Moves the feed whose item is on top of the heap to its next item. */
static int step(struct inv_merge *m)
{
	uint32_t index = m->heap.e[0].index;
	struct inv_feed *f = m->feeds[index];
	int rc = f->ops->next(f);

	if (!rc) {
		if (inv_unlikely(m->adjust != NULL))
			m->adjust(m->adjust_arg, &f->item);
		inv_merge_heap_replace(&m->heap, f->item.ts_ns);
		return 0;
	}
	inv_merge_heap_pop(&m->heap);
	if (rc == INV_END && f->growing)
		m->empty[m->n_empty++] = index;
	return rc < 0 ? rc : 0;
}

/* Returns the time until which the merge waits for an item of the feed f. */
static int64_t deadline(const struct inv_merge *m, const struct inv_feed *f)
{
	int64_t since = f->heard_ms < m->began_ms ? m->began_ms : f->heard_ms;

	return since + m->patience_ms;
}

int64_t inv_merge_wait(const struct inv_merge *m)
{
	int64_t wait = 0;

	if (!m->heap.n)
		return -1;
	for (uint32_t i = 0; i < m->n_empty; i++) {
		const struct inv_feed *f = m->feeds[m->empty[i]];
		int64_t left = deadline(m, f) - m->now_ms;

		/* Feed f may still return an item that is earlier than the item
		 * on top of the heap. */
		if (f->mark_ns <= m->heap.e[0].key && left > wait)
			wait = left;
	}
	return wait;
}

/* Asks each growing feed that has no item for its next item. Returns INV_END if
 * the item on top of the heap must still wait, because a feed may yet return an
 * earlier item. */
static int await(struct inv_merge *m)
{
	uint32_t left = 0;
	int rc = 0;

	if (m->began_ms == INT64_MIN)
		m->began_ms = m->now_ms;
	for (uint32_t i = 0; i < m->n_empty; i++) {
		uint32_t index = m->empty[i];
		struct inv_feed *f = m->feeds[index];
		int got = rc ? INV_END : f->ops->next(f);

		if (got < 0)
			rc = got;
		if (!got && m->adjust)
			m->adjust(m->adjust_arg, &f->item);
		if (!got)
			inv_merge_heap_push(&m->heap, f->item.ts_ns, index);
		else if (rc || f->growing)
			m->empty[left++] = index;
	}
	m->n_empty = left;
	return !rc && inv_merge_wait(m) ? INV_END : rc;
}

int inv_merge_next(struct inv_merge *m, struct inv_item **item)
{
	struct inv_feed *f;
	int64_t ts;
	int rc = m->given ? step(m) : 0;

	if (!rc && m->n_empty)
		rc = await(m);
	m->given = !rc && m->heap.n;
	if (!m->given)
		return rc ? rc : INV_END;
	f = m->feeds[m->heap.e[0].index];
	if (f->lazy && f->ops->load(f))
		return INV_ENOMEM;
	ts = m->heap.e[0].key;
	f->item.feed = m->heap.e[0].index;
	*item = &f->item;
	m->late = ts < m->last_ns;
	if (m->late)
		m->n_late++;
	else
		m->last_ns = ts;
	return 0;
}

uint32_t inv_merge_hold(struct inv_merge *m)
{
	uint32_t feed = m->heap.e[0].index;

	inv_merge_heap_pop(&m->heap);
	m->given = false;
	return feed;
}

int inv_merge_resume(struct inv_merge *m, uint32_t feed)
{
	int rc = 0;

	struct inv_item *next;

	/* The item that was returned last is still on top of the heap. First
	 * move its feed to the next item, so that the same item is not returned
	 * again. */
	if (m->given)
		rc = inv_merge_next(m, &next);
	m->given = false;
	inv_merge_heap_push(&m->heap, m->feeds[feed]->item.ts_ns, feed);
	return rc == INV_END ? 0 : rc;
}

void inv_merge_adjust(struct inv_merge *m,
		      void (*adjust)(void *arg, struct inv_item *item),
		      void *arg)
{
	uint32_t n = m->heap.n;

	m->adjust = adjust;
	m->adjust_arg = arg;
	m->given = false;
	/* Build the new heap in the array of the old one. Before step i, the
	 * new heap has i entries, so entry i of the old heap was not
	 * overwritten yet. */
	m->heap.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t index = m->heap.e[i].index;
		struct inv_item *item = &m->feeds[index]->item;

		adjust(arg, item);
		inv_merge_heap_push(&m->heap, item->ts_ns, index);
	}
}

bool inv_merge_has(const struct inv_merge *m, const struct inv_node *node)
{
	for (uint32_t i = 0; i < m->heap.n; i++)
		if (m->feeds[m->heap.e[i].index]->node == node)
			return true;
	for (uint32_t i = 0; i < m->n_empty; i++)
		if (m->feeds[m->empty[i]]->node == node)
			return true;
	return false;
}

bool inv_merge_done(const struct inv_merge *m)
{
	return !m->heap.n && !m->n_empty;
}
