/* SPDX-License-Identifier: Apache-2.0 */
/* The sink that shows requests as trees: inviso merge --request. */
#include "sink/formats.h"

#include <inttypes.h>

#include "sink/request_sink.h"
#include "sink/tree.h"

static void tree_end(struct inv_sink *s)
{
	struct inv_request_sink *r = (struct inv_request_sink *)s;
	const struct inv_tree_opts o = { .utc = s->opts.utc,
					 .color = s->opts.color,
					 .width = s->opts.width };
	int rc = inv_hops_finish(&r->hops);

	if (!rc)
		rc = s->opts.json ? inv_tree_json(&r->hops, s->out) :
				    inv_tree_put(&r->hops, &o, s->out);
	if (rc)
		s->out->error = INV_ENOMEM;
	if (s->opts.json)
		return;
	if (r->lost)
		inv_buf_printf(s->out,
			       "*** %" PRIu64 " events were lost meanwhile\n",
			       r->lost);
	inv_buf_puts(s->out, "-- ");
	inv_summary_text(&s->sum, s->out);
	inv_buf_putc(s->out, '\n');
}

const struct inv_sink_ops inv_sink_tree = {
	.name = "tree",
	.help = "requests as trees",
	.size = sizeof(struct inv_request_sink),
	.init = inv_request_sink_init,
	.event = inv_request_sink_event,
	.loss = inv_request_sink_loss,
	.end = tree_end,
	.release = inv_request_sink_release,
};
