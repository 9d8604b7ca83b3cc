/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/hop_text.h"

#include <string.h>

#include "flow/requests.h"

void inv_hop_process_text(const struct inv_hops *h, uint32_t process,
			  struct inv_buf *out)
{
	const struct inv_hop_node *node;

	if (process == INV_HOP_NONE) {
		inv_buf_putc(out, '?');
		return;
	}
	node = &h->nodes[h->processes[process]->node];
	inv_buf_put(out, node->name, node->short_len);
	inv_buf_putc(out, ' ');
	inv_hop_name_text(h, process, out);
}

void inv_hop_name_text(const struct inv_hops *h, uint32_t process,
		       struct inv_buf *out)
{
	const struct inv_hop_process *p = h->processes[process];

	if (!p->name || !p->registered)
		inv_buf_puts(out, p->pid);
	if (p->name && !p->registered)
		inv_buf_putc(out, ' ');
	if (p->name)
		inv_buf_puts(out, p->name);
}

void inv_hop_aim_text(const struct inv_hops *h, const struct inv_hop *p,
		      struct inv_buf *out)
{
	if (p->aim != INV_HOP_NONE)
		inv_hop_process_text(h, p->aim, out);
	else
		inv_buf_puts(out,
			     p->to_text ? inv_hops_text(h, p->to_text) : "?");
}

void inv_hop_what(const struct inv_hops *h, const struct inv_hop *p,
		  struct inv_buf *out)
{
	const char *text = inv_hops_text(h, p->text);

	if (p->kind == INV_HOP_BEGIN) {
		inv_buf_puts(out, "began");
		return;
	}
	if (p->kind == INV_HOP_PRINT)
		inv_buf_puts(out, "print ");
	else if (p->signal == INV_SIGNAL_SPAWN)
		inv_buf_puts(out, "spawn ");
	else if (p->signal == INV_SIGNAL_SPAWN_ARGS)
		inv_buf_puts(out, "spawn arguments ");
	else if (p->signal == INV_SIGNAL_EXIT)
		inv_buf_puts(out, "exit ");
	inv_buf_puts(out, *text ? text : "...");
}

void inv_hop_doubt(const struct inv_hop *p, struct inv_buf *out)
{
	const char *orphan = inv_orphan_text((enum inv_orphan)p->orphan);

	if (orphan)
		inv_buf_printf(out, "(orphan: %s) ", orphan);
	else if (!p->certain)
		inv_buf_puts(out, "(uncertain) ");
	if (p->kind == INV_HOP_MESSAGE && !inv_hop_arrived(p) &&
	    p->signal != INV_SIGNAL_PORT)
		inv_buf_puts(out, "(not received) ");
}

/* Shortens references, which take half of a narrow line: #Ref<0.1.2.3> becomes
 * #Ref. */
static void shorten(struct inv_buf *out, size_t from)
{
	static const char ref[] = "#Ref<";
	const size_t len = sizeof(ref) - 1;
	size_t w = from;

	if (out->error)
		return;
	for (size_t r = from; r < out->len; r++) {
		bool found = out->len - r > len &&
			     !memcmp(out->data + r, ref, len);
		const uint8_t *end =
			found ? memchr(out->data + r, '>', out->len - r) : NULL;

		if (end) {
			memmove(out->data + w, ref, len - 1);
			w += len - 1;
			r = (size_t)(end - out->data);
		} else {
			out->data[w++] = out->data[r];
		}
	}
	out->len = w;
}

void inv_hop_short(const struct inv_hops *h, const struct inv_hop *p,
		   struct inv_buf *out)
{
	size_t from = out->len;

	inv_hop_what(h, p, out);
	shorten(out, from);
}

int64_t inv_hop_mailbox(const struct inv_hop *p)
{
	if (p->kind != INV_HOP_MESSAGE || !p->send_id || !p->receive_id)
		return -1;
	return p->received_ns > p->sent_ns ? p->received_ns - p->sent_ns : 0;
}

int64_t inv_hop_handler(const struct inv_hop *p)
{
	/* It is known how long the process worked only if the process had
	 * another event after the receive event. */
	if (!inv_hop_arrived(p) || p->last_id <= p->receive_id ||
	    (p->kind == INV_HOP_MESSAGE && !p->receive_id))
		return -1;
	return p->last_ns > p->received_ns ? p->last_ns - p->received_ns : 0;
}
