/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of Mermaid's sequence diagrams, which many Markdown viewers show.
 *
 * In such a diagram all arrows are horizontal. A message is an arrow in the row
 * of its send event. If the receiver had another event between the send event
 * and the receive event, this arrow would wrongly say that the message was
 * received before that other event. In this case the arrow has an open head and
 * a number, and a note shows where the receiver took the message.
 */
#include "sink/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "sink/hop_rows.h"
#include "sink/hop_text.h"
#include "sink/request_sink.h"

/* Longer texts are cut. */
#define TEXT_MAX 100u

struct writer {
	const struct inv_hops *h;
	struct inv_buf *out;
	struct inv_buf text;
	const bool *split; /* split[i] is for hop i */
	bool *seen;	   /* seen[i] is for process i */
};

/* Replaces all characters that can have a meaning for Mermaid or for HTML by
 * codes, such as #59; for a semicolon. */
static void escape(const void *text, size_t len, struct inv_buf *out)
{
	const uint8_t *p = text, *end = p + len;
	unsigned n, columns = 0;

	for (; p < end; p += n) {
		uint32_t c = inv_utf8_get(p, end, &n);

		if (columns++ == TEXT_MAX) {
			inv_buf_puts(out, "#8230;");
			return;
		}
		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		    (c >= 'a' && c <= 'z') || c == ' ' || c == '_' ||
		    c == '.' || c == ',' || c == '@' || c == '/' || c == '-' ||
		    c == '(' || c == ')' || c == '[' || c == ']')
			inv_buf_putc(out, (char)c);
		else
			inv_buf_printf(out, "#%" PRIu32 ";",
				       c == INV_CHAR_BAD ? 0xfffd : c);
	}
}

static void escape_text(struct writer *w)
{
	if (w->text.error)
		w->out->error = w->text.error;
	else
		escape(w->text.data, w->text.len, w->out);
	inv_buf_reset(&w->text);
}

static void note(struct writer *w, uint32_t process)
{
	inv_buf_printf(w->out, "  Note over P%" PRIu32 ": ", process);
}

static void end_line(struct writer *w)
{
	escape_text(w);
	inv_buf_putc(w->out, '\n');
}

/* --- participants --------------------------------------------------------- */

static void see(struct writer *w, uint32_t process)
{
	if (process != INV_HOP_NONE)
		w->seen[process] = true;
}

static void participants(struct writer *w)
{
	for (uint32_t i = 0; i < w->h->n; i++) {
		see(w, w->h->v[i].from);
		see(w, w->h->v[i].to);
		see(w, w->h->v[i].aim);
	}
	for (uint32_t i = 0; i < w->h->n_processes; i++) {
		if (!w->seen[i])
			continue;
		inv_buf_printf(w->out, "  participant P%" PRIu32 " as ", i);
		inv_hop_process_text(w->h, i, &w->text);
		end_line(w);
	}
}

/* --- rows ----------------------------------------------------------------- */

static void begins(struct writer *w, const struct inv_hop *root)
{
	note(w, root->to);
	inv_buf_printf(&w->text, "request %" PRIu64 " begins, label %s",
		       root->request, inv_hops_text(w->h, root->label));
	end_line(w);
}

static void sent(struct writer *w, uint32_t i)
{
	const struct inv_hop *p = &w->h->v[i];
	const char *arrow = "->>";
	uint32_t to = inv_hop_arrived(p) ? p->to : p->aim;

	if (p->kind == INV_HOP_PRINT || to == INV_HOP_NONE) {
		note(w, p->from);
		if (p->kind != INV_HOP_PRINT) {
			inv_buf_puts(&w->text, "to ");
			inv_hop_aim_text(w->h, p, &w->text);
			inv_buf_putc(&w->text, ' ');
		}
	} else {
		if (!inv_hop_arrived(p))
			arrow = "-x";
		else if (!p->receive_id)
			arrow = "--)";
		else if (w->split[i])
			arrow = "-)";
		inv_buf_printf(w->out, "  P%" PRIu32 "%sP%" PRIu32 ": ",
			       p->from, arrow, to);
	}
	if (w->split[i])
		inv_buf_printf(&w->text, "%" PRIu32 " ", i);
	inv_hop_doubt(p, &w->text);
	inv_hop_short(w->h, p, &w->text);
	end_line(w);
}

static void received(struct writer *w, uint32_t i)
{
	const struct inv_hop *p = &w->h->v[i];

	if (p->send_id && !w->split[i])
		return;
	note(w, p->to);
	if (p->send_id) {
		inv_buf_printf(&w->text, "takes %" PRIu32, i);
	} else {
		inv_buf_puts(&w->text, "from ");
		inv_hop_process_text(w->h, p->from, &w->text);
		inv_buf_putc(&w->text, ' ');
		inv_hop_doubt(p, &w->text);
		inv_hop_short(w->h, p, &w->text);
	}
	end_line(w);
}

static void rows(struct writer *w)
{
	for (size_t n = 0; n < w->h->n_events; n++) {
		const struct inv_hop_event *e = &w->h->events[n];
		const struct inv_hop *p = &w->h->v[e->hop];
		const struct inv_hop *parent =
			p->parent == INV_HOP_NONE ? NULL : &w->h->v[p->parent];

		if (e->id == p->receive_id && p->parent == INV_HOP_NONE)
			begins(w, p);
		if (e->id == p->send_id && parent &&
		    parent->kind == INV_HOP_BEGIN && parent->first == e->hop)
			begins(w, parent);
		if (e->id == p->send_id)
			sent(w, e->hop);
		else
			received(w, e->hop);
	}
}

static void mermaid_end(struct inv_sink *s)
{
	struct inv_request_sink *r = (struct inv_request_sink *)s;
	int rc = inv_hops_finish(&r->hops);
	bool *split = inv_hop_splits(&r->hops);
	struct writer w = { .h = &r->hops,
			    .out = s->out,
			    .split = split,
			    .seen = calloc(r->hops.n_processes + 1u,
					   sizeof(bool)) };

	if (rc || !split || !w.seen) {
		s->out->error = INV_ENOMEM;
	} else {
		inv_buf_puts(s->out, "sequenceDiagram\n");
		participants(&w);
		rows(&w);
	}
	free(split);
	free(w.seen);
	inv_buf_release(&w.text);
}

const struct inv_sink_ops inv_sink_mermaid = {
	.name = "mermaid",
	.help = "requests as a sequence diagram of Mermaid",
	.size = sizeof(struct inv_request_sink),
	.init = inv_request_sink_init,
	.event = inv_request_sink_event,
	.loss = inv_request_sink_loss,
	.end = mermaid_end,
	.release = inv_request_sink_release,
};
