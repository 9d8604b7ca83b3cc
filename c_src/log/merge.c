/* SPDX-License-Identifier: Apache-2.0 */
#include "log/merge.h"

#include <string.h>

int inv_merge_init(struct inv_merge *m, struct inv_feed **feeds,
		   uint32_t n_feeds)
{
	memset(m, 0, sizeof(*m));
	m->feeds = feeds;
	m->n_feeds = n_feeds;
	return inv_merge_heap_init(&m->heap, n_feeds) ? 0 : INV_ENOMEM;
}

void inv_merge_release(struct inv_merge *m)
{
	inv_merge_heap_release(&m->heap);
	memset(m, 0, sizeof(*m));
}

static int start(struct inv_merge *m)
{
	for (uint32_t i = 0; i < m->n_feeds; i++) {
		int rc = m->feeds[i]->ops->next(m->feeds[i]);

		if (rc < 0)
			return rc;
		if (!rc)
			inv_merge_heap_push(&m->heap, m->feeds[i]->item.ts_ns,
					    i);
	}
	return 0;
}

static int step(struct inv_merge *m)
{
	struct inv_feed *f = m->feeds[m->heap.e[0].index];
	int rc = f->ops->next(f);

	if (rc < 0)
		return rc;
	if (rc)
		inv_merge_heap_pop(&m->heap);
	else
		inv_merge_heap_replace(&m->heap, f->item.ts_ns);
	return 0;
}

int inv_merge_next(struct inv_merge *m, const struct inv_item **item)
{
	int rc = 0;

	if (!m->started)
		rc = start(m);
	else if (m->heap.n)
		rc = step(m);
	m->started = true;
	if (rc)
		return rc;
	if (!m->heap.n)
		return INV_END;
	*item = &m->feeds[m->heap.e[0].index]->item;
	return 0;
}
