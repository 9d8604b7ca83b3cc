/* SPDX-License-Identifier: Apache-2.0 */
#include "log/live_merge.h"

#include <stdlib.h>
#include <string.h>

#include "log/live.h"

int inv_live_merge_init(struct inv_live_merge *m, struct inv_feed **feeds,
			uint32_t n_feeds, int64_t patience_ms)
{
	memset(m, 0, sizeof(*m));
	m->feeds = feeds;
	m->n_feeds = n_feeds;
	m->given = n_feeds;
	m->patience_ms = patience_ms;
	m->began_ms = INT64_MIN;
	m->last_ns = INT64_MIN;
	m->ready = calloc(n_feeds ? n_feeds : 1, sizeof(*m->ready));
	return m->ready ? 0 : INV_ENOMEM;
}

void inv_live_merge_release(struct inv_live_merge *m)
{
	free(m->ready);
	memset(m, 0, sizeof(*m));
}

/* Asks all feeds that have no item here. */
static int refill(struct inv_live_merge *m)
{
	for (uint32_t i = 0; i < m->n_feeds; i++) {
		int rc;

		if (m->ready[i] || inv_live_done(m->feeds[i]))
			continue;
		rc = m->feeds[i]->ops->next(m->feeds[i]);
		if (rc < 0)
			return rc;
		m->ready[i] = !rc;
	}
	return 0;
}

/* n_feeds: there is none. */
static uint32_t earliest(const struct inv_live_merge *m)
{
	uint32_t first = m->n_feeds;

	for (uint32_t i = 0; i < m->n_feeds; i++)
		if (m->ready[i] &&
		    (first == m->n_feeds ||
		     m->feeds[i]->item.ts_ns < m->feeds[first]->item.ts_ns))
			first = i;
	return first;
}

/* When feed i was, or will be, silent for too long. */
static int64_t deadline(const struct inv_live_merge *m, uint32_t i)
{
	int64_t heard = inv_live_heard(m->feeds[i]);

	return (heard < m->began_ms ? m->began_ms : heard) + m->patience_ms;
}

/* Whether feed i may have something from before ts_ns. */
static bool waits_for(const struct inv_live_merge *m, uint32_t i, int64_t ts_ns)
{
	int64_t mark;

	if (m->ready[i] || inv_live_done(m->feeds[i]))
		return false;
	return !inv_live_marked(m->feeds[i], &mark) || mark <= ts_ns;
}

int inv_live_merge_next(struct inv_live_merge *m, int64_t now_ms,
			const struct inv_item **item)
{
	uint32_t first;
	int rc;

	if (m->began_ms == INT64_MIN)
		m->began_ms = now_ms;
	if (m->given < m->n_feeds)
		m->ready[m->given] = false;
	m->given = m->n_feeds;
	rc = refill(m);
	if (rc)
		return rc;
	first = earliest(m);
	if (first == m->n_feeds)
		return INV_END;
	*item = &m->feeds[first]->item;
	for (uint32_t i = 0; i < m->n_feeds; i++)
		if (waits_for(m, i, (*item)->ts_ns) && now_ms < deadline(m, i))
			return INV_END;
	m->given = first;
	m->late = (*item)->ts_ns < m->last_ns;
	m->n_late += m->late;
	if (!m->late)
		m->last_ns = (*item)->ts_ns;
	return 0;
}

int64_t inv_live_merge_wait(const struct inv_live_merge *m, int64_t now_ms)
{
	uint32_t first = earliest(m);
	int64_t wait = 0;

	if (first == m->n_feeds)
		return -1;
	for (uint32_t i = 0; i < m->n_feeds; i++) {
		int64_t left = deadline(m, i) - now_ms;

		if (waits_for(m, i, m->feeds[first]->item.ts_ns) && left > wait)
			wait = left;
	}
	return wait;
}

bool inv_live_merge_done(const struct inv_live_merge *m)
{
	for (uint32_t i = 0; i < m->n_feeds; i++)
		if (m->ready[i] || !inv_live_done(m->feeds[i]))
			return false;
	return true;
}
