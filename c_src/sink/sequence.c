/* SPDX-License-Identifier: Apache-2.0 */
/* The format `sequence': one HTML file with a sequence chart. */
#include "base/json.h"
#include "sink/formats.h"
#include "sink/request_sink.h"
#include "sink/sequence_json.h"
#include "sink/sequence_page.h"

/* More events make a browser slow. */
#define ROWS_MAX 5000u

static void sequence_end(struct inv_sink *s)
{
	struct inv_request_sink *r = (struct inv_request_sink *)s;
	struct inv_buf json = { 0 };
	struct inv_json j = { .out = &json };

	if (inv_hops_finish(&r->hops))
		json.error = INV_ENOMEM;
	else
		s->left_out = inv_sequence_json(&r->hops, ROWS_MAX, s->left_out,
						r->lost, &j);
	if (json.error)
		s->out->error = json.error;
	inv_buf_puts(s->out, inv_sequence_head);
	inv_json_embed(&json, s->out);
	inv_buf_puts(s->out, inv_sequence_tail);
	inv_buf_release(&json);
}

const struct inv_sink_ops inv_sink_sequence = {
	.name = "sequence",
	.help = "requests as a sequence chart: one HTML file",
	.size = sizeof(struct inv_request_sink),
	.init = inv_request_sink_init,
	.event = inv_request_sink_event,
	.loss = inv_request_sink_loss,
	.end = sequence_end,
	.release = inv_request_sink_release,
};
