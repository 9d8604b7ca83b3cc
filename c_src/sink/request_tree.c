/* SPDX-License-Identifier: Apache-2.0 */
/* The sink that shows requests as trees: inviso merge --request. */
#include "sink/formats.h"

#include <inttypes.h>

#include "flow/hops.h"
#include "sink/tree.h"

struct tree_sink {
	struct inv_sink sink;
	struct inv_hops hops;
	uint64_t lost;	 /* while the requests ran */
	uint64_t missed; /* since the last of their events */
};

static int tree_init(struct inv_sink *s)
{
	struct tree_sink *t = (struct tree_sink *)s;

	inv_sink_for_people(s);
	return inv_hops_init(&t->hops, s->opts.request_memory);
}

static int tree_event(struct inv_sink *s, const struct inv_item *it)
{
	struct tree_sink *t = (struct tree_sink *)s;

	inv_sink_manner(s, it);
	if (inv_hops_add(&t->hops, it, &s->print))
		s->out->error = INV_ENOMEM;
	t->lost += t->missed;
	t->missed = 0;
	return 0;
}

static void tree_loss(struct inv_sink *s, const struct inv_item *it)
{
	struct tree_sink *t = (struct tree_sink *)s;

	if (t->hops.n && it->lost.reason != INV_LOSS_LIMIT)
		t->missed += it->lost.n;
}

static void tree_end(struct inv_sink *s)
{
	struct tree_sink *t = (struct tree_sink *)s;
	const struct inv_tree_opts o = { .utc = s->opts.utc,
					 .color = s->opts.color,
					 .width = s->opts.width };
	int rc = s->opts.json ? inv_tree_json(&t->hops, s->out) :
				inv_tree_put(&t->hops, &o, s->out);

	if (rc)
		s->out->error = INV_ENOMEM;
	if (s->opts.json)
		return;
	if (t->lost)
		inv_buf_printf(s->out,
			       "*** %" PRIu64 " events were lost meanwhile\n",
			       t->lost);
	inv_buf_puts(s->out, "-- ");
	inv_summary_text(&s->sum, s->out);
	inv_buf_putc(s->out, '\n');
}

static void tree_release(struct inv_sink *s)
{
	inv_hops_release(&((struct tree_sink *)s)->hops);
}

const struct inv_sink_ops inv_sink_tree = {
	.name = "tree",
	.help = "requests as trees",
	.size = sizeof(struct tree_sink),
	.init = tree_init,
	.event = tree_event,
	.loss = tree_loss,
	.end = tree_end,
	.release = tree_release,
};
