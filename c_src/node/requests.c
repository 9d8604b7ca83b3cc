/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/conn_int.h"
#include "node/net.h"

#define ANSWER_MS 5000

static struct inv_request *new_request(const struct inv_dest *to)
{
	size_t len = to->name ? strlen(to->name) + 1 : 0;
	struct inv_request *q = calloc(1, sizeof(*q) + len);

	if (!q)
		return NULL;
	q->to = *to;
	if (to->name) {
		memcpy(q->name, to->name, len);
		q->to.name = q->name;
	}
	return q;
}

/* Returns 0 if a request of `n' bytes can be queued now.  The caller has the
 * lock. */
static int may_send(const struct inv_conn *c, size_t n, struct inv_err *err)
{
	switch (c->state) {
	case INV_CONN_CONNECTING:
		inv_err_set(err, INV_EBUSY, "%s: not connected yet",
			    c->asked.full);
		return INV_EBUSY;
	case INV_CONN_LOST:
		if (err)
			*err = c->why;
		return c->why.code;
	case INV_CONN_UP:
		break;
	}
	if (n > c->opts.queue_max || c->queue.len > c->opts.queue_max - n)
		return inv_err_set(err, INV_EFULL,
				   "%s: too many requests wait to be sent",
				   c->asked.full);
	return 0;
}

/* Queues a monitor of the request's destination, and the request. The caller
 * has the lock. */
static int enqueue(struct inv_conn *c, struct inv_request *q,
		   const struct inv_question *ask, struct inv_err *err)
{
	size_t from = c->queue.len;
	int r = may_send(c, ask->len, err);

	if (r)
		return r;
	q->tag = ++c->last_tag;
	r = inv_dist_frame_put_monitor(&c->queue, &c->self, &q->to, q->tag,
				       true);
	if (r == 0)
		r = inv_dist_frame_put_request(&c->queue, &c->self, &q->to,
					       q->tag, ask->term, ask->len);
	if (r < 0) {
		c->queue.len = from;
		inv_err_set(err, r,
			    r == INV_ENOMEM ? "no memory" : "not a request");
		return r;
	}
	q->next = c->requests;
	c->requests = q;
	return 0;
}

int inv_request_add(struct inv_conn *c, const struct inv_question *ask,
		    uint64_t *tag, struct inv_err *err)
{
	struct inv_request *q = new_request(ask->to);
	int r;

	if (!q)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	q->ms = ask->ms > 0 ? ask->ms : ANSWER_MS;
	q->until = inv_mono_ms() + q->ms;
	q->own = ask->own;
	pthread_mutex_lock(&c->lock);
	r = enqueue(c, q, ask, err);
	*tag = q->tag;
	pthread_mutex_unlock(&c->lock);
	if (r) {
		free(q);
		return r;
	}
	inv_conn_wake(c);
	return 0;
}

/*
 * Removes a request from the list. If `gone' is false, queues the frame that
 * ends the request's monitor. If that fails, the monitor stays until the
 * connection ends, which does no harm. The caller has the lock.
 */
static struct inv_request *take_at(struct inv_conn *c, struct inv_request **at,
				   bool gone)
{
	struct inv_request *q = *at;

	*at = q->next;
	if (!gone && c->queue.len < c->opts.queue_max)
		(void)inv_dist_frame_put_monitor(&c->queue, &c->self, &q->to,
						 q->tag, false);
	return q;
}

struct inv_request *inv_request_take(struct inv_conn *c, uint64_t tag,
				     bool gone)
{
	struct inv_request **at;
	struct inv_request *q = NULL;

	pthread_mutex_lock(&c->lock);
	at = &c->requests;
	while (*at && (*at)->tag != tag)
		at = &(*at)->next;
	if (*at)
		q = take_at(c, at, gone);
	pthread_mutex_unlock(&c->lock);
	return q;
}

struct inv_request *inv_request_expired(struct inv_conn *c, int64_t now,
					int64_t *next)
{
	struct inv_request **at;
	struct inv_request *q = NULL;

	*next = INT64_MAX;
	pthread_mutex_lock(&c->lock);
	for (at = &c->requests; *at; at = &(*at)->next) {
		if ((*at)->until <= now) {
			q = take_at(c, at, false);
			break;
		}
		if ((*at)->until < *next)
			*next = (*at)->until;
	}
	pthread_mutex_unlock(&c->lock);
	return q;
}

void inv_request_drop_all(struct inv_conn *c)
{
	struct inv_request *q;

	pthread_mutex_lock(&c->lock);
	while ((q = c->requests) != NULL) {
		c->requests = q->next;
		free(q);
	}
	pthread_mutex_unlock(&c->lock);
}
