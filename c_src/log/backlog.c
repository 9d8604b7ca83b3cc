/* SPDX-License-Identifier: Apache-2.0 */
#include "log/backlog.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct inv_kept *inv_kept_new(const struct inv_log_place *at)
{
	size_t body = at->body ? at->head.body_len : 0;
	size_t size = sizeof(struct inv_kept) + body;
	struct inv_kept *k = malloc(size);

	if (!k)
		return NULL;
	k->at = *at;
	k->refs = 1;
	k->size = size;
	if (at->body) {
		memcpy(k->body, at->body, body);
		k->at.body = k->body;
	}
	return k;
}

size_t inv_kept_drop(struct inv_kept *k)
{
	size_t size = k->size;

	if (--k->refs)
		return 0;
	free(k);
	return size;
}

int inv_backlog_put(struct inv_backlog *b, struct inv_kept *k)
{
	struct inv_backlog_entry *e = malloc(sizeof(*e));

	if (!e)
		return INV_ENOMEM;
	e->kept = k;
	e->next = NULL;
	if (b->last)
		b->last->next = e;
	else
		b->first = e;
	b->last = e;
	k->refs++;
	return 0;
}

struct inv_kept *inv_backlog_take(struct inv_backlog *b)
{
	struct inv_backlog_entry *e = b->first;
	struct inv_kept *k;

	if (!e)
		return NULL;
	k = e->kept;
	b->first = e->next;
	if (!b->first)
		b->last = NULL;
	free(e);
	return k;
}

/* --- anchors -------------------------------------------------------------- */

static int make_room(struct inv_anchor_queue *q)
{
	struct inv_anchor *more;
	size_t cap = q->cap ? 2 * q->cap : 16;

	if (q->first) {
		memmove(q->a, q->a + q->first, q->n * sizeof(*q->a));
		q->first = 0;
	}
	if (q->n < q->cap)
		return 0;
	more = realloc(q->a, cap * sizeof(*more));
	if (!more)
		return INV_ENOMEM;
	q->a = more;
	q->cap = cap;
	return 0;
}

int inv_anchor_queue_put(struct inv_anchor_queue *q, const struct inv_anchor *a)
{
	if (q->n == INV_ANCHORS_MAX) {
		q->first++;
		q->n--;
	}
	if (q->first + q->n == q->cap && make_room(q))
		return INV_ENOMEM;
	q->a[q->first + q->n++] = *a;
	return 0;
}

bool inv_anchor_queue_take(struct inv_anchor_queue *q, struct inv_anchor *a)
{
	if (!q->n)
		return false;
	*a = q->a[q->first++];
	if (!--q->n)
		q->first = 0;
	return true;
}

void inv_anchor_queue_release(struct inv_anchor_queue *q)
{
	free(q->a);
	memset(q, 0, sizeof(*q));
}
