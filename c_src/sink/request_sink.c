/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/request_sink.h"

int inv_request_sink_init(struct inv_sink *s)
{
	inv_sink_for_people(s);
	return inv_hops_init(&((struct inv_request_sink *)s)->hops,
			     s->opts.request_memory);
}

int inv_request_sink_event(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_request_sink *r = (struct inv_request_sink *)s;

	inv_sink_manner(s, it);
	if (inv_hops_add(&r->hops, it, &s->print))
		s->out->error = INV_ENOMEM;
	r->lost += r->missed;
	r->missed = 0;
	s->left_out = r->hops.left_out;
	return 0;
}

void inv_request_sink_loss(struct inv_sink *s, const struct inv_item *it)
{
	struct inv_request_sink *r = (struct inv_request_sink *)s;

	if (r->hops.n && it->lost.reason != INV_LOSS_LIMIT)
		r->missed += it->lost.n;
}

void inv_request_sink_release(struct inv_sink *s)
{
	inv_hops_release(&((struct inv_request_sink *)s)->hops);
}
