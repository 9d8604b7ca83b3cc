/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "flow/requests_int.h"

#include <uthash.h>

void inv__sent_drop(struct inv_requests *r, struct inv_sent *x)
{
	if (x->by_to)
		HASH_DELETE(hh_to, r->sent_to, x);
	HASH_DELETE(hh, r->sent, x);
	free(x);
}

struct inv_sent *inv__sent_find(const struct inv_requests *r,
				const struct inv_seq *s)
{
	const struct inv_sent_key key = { s->label, s->from, s->prev, s->cur };
	struct inv_sent *x;

	HASH_FIND(hh, r->sent, &key, sizeof(key), x);
	return x;
}

struct inv_sent *inv__sent_find_to(const struct inv_requests *r, uint64_t label,
				   uint64_t to, uint64_t cur)
{
	const struct inv_sent_to_key key = { label, to, cur };
	struct inv_sent *x;

	HASH_FIND(hh_to, r->sent_to, &key, sizeof(key), x);
	return x;
}

/* Adds x to the table whose key is `to'. If the table already has a message
 * with an equal key, only counts x in `others' of that message. */
static int add_sent_to(struct inv_requests *r, struct inv_sent *x)
{
	struct inv_sent *other =
		inv__sent_find_to(r, x->to.label, x->to.to, x->to.cur);

	if (other) {
		other->others++;
		return 0;
	}
	HASH_ADD(hh_to, r->sent_to, to, sizeof(x->to), x);
	if (!x->stored)
		return INV_ENOMEM;
	x->by_to = true;
	return 0;
}

/* Handles another message with the same key as x. `before' is the cause of this
 * message's send event. It is not known which of the two messages is received
 * first. But if both send events have the same cause, both receive events
 * follow from this cause, too. */
static void repeat_sent(struct inv_requests *r, struct inv_sent *x,
			const struct inv_origin *before)
{
	if (x->before.request != before->request ||
	    x->before.shown != before->shown)
		x->before = (struct inv_origin){ 0 };
	x->origin = x->before;
	x->repeated = true;
	x->more++;
	r->counts.repeated++;
}

int inv__sent_add(struct inv_requests *r, const struct inv_seq *s,
		  const struct inv_origin *before)
{
	struct inv_sent *x = inv__sent_find(r, s);

	if (x) {
		repeat_sent(r, x, before);
		if (s->ts_ns > x->ts_ns)
			x->ts_ns = s->ts_ns;
		return 0;
	}
	if (HASH_CNT(hh, r->sent) >= r->most_sent) {
		inv__sent_drop(r, r->sent);
		r->counts.forgotten++;
	}
	x = calloc(1, sizeof(*x));
	if (!x)
		return INV_ENOMEM;
	x->key = (struct inv_sent_key){ s->label, s->from, s->prev, s->cur };
	x->to = (struct inv_sent_to_key){ s->label, s->to, s->cur };
	x->origin = x->before = *before;
	x->signal = s->signal;
	x->ts_ns = s->ts_ns;
	x->stored = true;
	HASH_ADD(hh, r->sent, key, sizeof(x->key), x);
	if (!x->stored) {
		free(x);
		return INV_ENOMEM;
	}
	if (s->to && add_sent_to(r, x)) {
		inv__sent_drop(r, x);
		return INV_ENOMEM;
	}
	r->shows[2] = &x->origin.shown;
	return 0;
}

void inv__sent_release(struct inv_requests *r)
{
	struct inv_sent *s = r->sent;

	HASH_CLEAR(hh_to, r->sent_to);
	HASH_CLEAR(hh, r->sent);
	while (s) {
		struct inv_sent *next = s->hh.next;

		free(s);
		s = next;
	}
}
