/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/hops.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "flow/hops_int.h"
#include "flow/seq.h"
#include "term/cursor.h"

int inv_hops_init(struct inv_hops *h, size_t memory)
{
	memset(h, 0, sizeof(*h));
	h->memory = memory ? memory : INV_HOPS_MEMORY;
	h->cursor = malloc(sizeof(*h->cursor));
	/* Offset 0 in h->texts means an empty text. */
	inv_buf_putc(&h->texts, 0);
	return h->cursor && !h->texts.error ? 0 : INV_ENOMEM;
}

void inv_hops_reset(struct inv_hops *h)
{
	inv_hops_free_processes(h);
	free(h->v);
	h->v = NULL;
	h->n = 0;
	h->n_events = 0;
	h->more = 0;
	h->left_out = 0;
	h->failed = false;
	inv_buf_reset(&h->texts);
	/* Offset 0 in h->texts means an empty text. */
	inv_buf_putc(&h->texts, 0);
}

void inv_hops_release(struct inv_hops *h)
{
	inv_hops_reset(h);
	free(h->events);
	free(h->cursor);
	inv_buf_release(&h->texts);
	memset(h, 0, sizeof(*h));
}

/* --- arrays --------------------------------------------------------------- */

/* Arrays grow by doubling, so at worst half of their memory is unused. So the
 * elements may take only half of the bound. */
bool inv_hops_full(const struct inv_hops *h)
{
	return h->n * sizeof(*h->v) + h->n_events * sizeof(*h->events) +
		       h->texts.len + h->more >
	       h->memory / 2;
}

void *inv_hops_grown(void *v, uint32_t n, size_t size)
{
	/* The array is full only if n is 0, or a power of two from 8 on. */
	if (n & (n - 1) || (n && n < 8))
		return v;
	return realloc(v, (n < 8 ? 8 : (size_t)n * 2) * size);
}

static struct inv_hop *add_hop(struct inv_hops *h, enum inv_hop_kind kind)
{
	struct inv_hop *v = inv_hops_grown(h->v, h->n, sizeof(*v));
	struct inv_hop *p;

	if (!v) {
		h->failed = true;
		return NULL;
	}
	h->v = v;
	p = &v[h->n];
	memset(p, 0, sizeof(*p));
	p->kind = (uint8_t)kind;
	p->parent = p->first = p->last = p->next = p->then = INV_HOP_NONE;
	p->root = p->newest = h->n++;
	p->from = p->to = p->aim = INV_HOP_NONE;
	return p;
}

static int add_event(struct inv_hops *h, uint64_t id, uint32_t hop)
{
	if (h->n_events == h->cap_events) {
		size_t cap = h->cap_events ? h->cap_events * 2 : 16;
		struct inv_hop_event *v = realloc(h->events, cap * sizeof(*v));

		if (!v)
			return INV_ENOMEM;
		h->events = v;
		h->cap_events = cap;
	}
	h->events[h->n_events++] = (struct inv_hop_event){ id, hop };
	return 0;
}

uint32_t inv_hops_find(const struct inv_hops *h, uint64_t id)
{
	size_t low = 0, high = h->n_events;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (h->events[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < h->n_events && h->events[low].id == id ?
		       h->events[low].hop :
		       INV_HOP_NONE;
}

/* --- hops ----------------------------------------------------------------- */

static void end_turn(struct inv_hops *h, uint32_t turn, uint64_t id,
		     int64_t ts_ns)
{
	h->v[turn].last_id = id;
	h->v[turn].last_ns = ts_ns;
}

void inv_hops_link(struct inv_hops *h, uint32_t parent, uint32_t child)
{
	struct inv_hop *p = &h->v[parent];

	h->v[child].parent = parent;
	h->v[child].root = p->root;
	h->v[h->v[p->root].newest].then = child;
	h->v[p->root].newest = child;
	if (p->last == INV_HOP_NONE)
		p->first = child;
	else
		h->v[p->last].next = child;
	p->last = child;
}

static void set_crosses(const struct inv_hops *h, struct inv_hop *p)
{
	p->crosses = p->from != INV_HOP_NONE && p->to != INV_HOP_NONE &&
		     h->processes[p->from]->node != h->processes[p->to]->node;
}

/* Returns the turn to which the event `id' belongs; INV_HOP_NONE: the event
 * was left out. */
static uint32_t turn_of(const struct inv_hops *h, uint64_t id)
{
	uint32_t i = inv_hops_find(h, id);

	if (i == INV_HOP_NONE || h->v[i].receive_id == id)
		return i;
	return h->v[i].parent;
}

static void arrive(struct inv_hops *h, uint32_t i,
		   const struct inv_hop_parts *p, const struct inv_cause *c)
{
	struct inv_hop *hop = &h->v[i];

	hop->to = p->to;
	hop->receive_id = c->id;
	hop->received_ns = p->seq.ts_ns;
	hop->signal = (uint8_t)c->signal;
	set_crosses(h, hop);
	end_turn(h, i, c->id, p->seq.ts_ns);
}

/* Handles the receive event of a message. Returns the hop; INV_HOP_NONE: the
 * bound is reached, or memory is exhausted. */
static uint32_t received(struct inv_hops *h, const struct inv_hop_parts *p,
			 const struct inv_cause *c)
{
	uint32_t sent = c->cause ? inv_hops_find(h, c->cause) : INV_HOP_NONE;
	uint32_t turn = INV_HOP_NONE;
	struct inv_hop *hop;

	if (sent != INV_HOP_NONE && h->v[sent].send_id == c->cause &&
	    !c->orphan && h->v[sent].kind == INV_HOP_MESSAGE &&
	    !inv_hop_arrived(&h->v[sent])) {
		h->v[sent].certain &= c->certain;
		arrive(h, sent, p, c);
		return sent;
	}
	if (c->cause)
		turn = turn_of(h, c->cause);
	if (inv_hops_full(h) || (c->cause && turn == INV_HOP_NONE))
		return INV_HOP_NONE;
	hop = add_hop(h, INV_HOP_MESSAGE);
	if (!hop)
		return INV_HOP_NONE;
	hop->request = c->request;
	hop->from = p->from;
	hop->orphan = (uint8_t)c->orphan;
	hop->certain = c->certain;
	hop->text = p->text;
	arrive(h, h->n - 1, p, c);
	if (turn != INV_HOP_NONE)
		inv_hops_link(h, turn, h->n - 1);
	return h->n - 1;
}

/* Adds the beginning of a request: an event that has no cause. */
static uint32_t begin(struct inv_hops *h, const struct inv_hop_parts *p,
		      const struct inv_cause *c)
{
	struct inv_hop *hop = add_hop(h, INV_HOP_BEGIN);

	if (!hop)
		return INV_HOP_NONE;
	hop->request = c->request;
	hop->to = p->from;
	hop->received_ns = p->seq.ts_ns;
	hop->orphan = (uint8_t)c->orphan;
	hop->certain = c->certain;
	return h->n - 1;
}

/* Returns the turn in which a process sends or prints. */
static uint32_t acting_turn(struct inv_hops *h, const struct inv_hop_parts *p,
			    const struct inv_cause *c)
{
	uint32_t i = inv_hops_find(h, c->cause);
	struct inv_hop *hop;

	if (i == INV_HOP_NONE)
		return i;
	hop = &h->v[i];
	if (hop->send_id != c->cause)
		return i;
	if (hop->from == p->from)
		return hop->parent;
	/* The hop follows from a message whose receive event was not
	 * recorded. */
	if (!inv_hop_arrived(hop)) {
		hop->to = p->from;
		hop->orphan = (uint8_t)c->orphan;
		hop->certain = false;
		set_crosses(h, hop);
	}
	return i;
}

static uint32_t acted(struct inv_hops *h, const struct inv_hop_parts *p,
		      const struct inv_cause *c)
{
	struct inv_hop *hop;
	uint32_t turn;

	if (inv_hops_full(h))
		return INV_HOP_NONE;
	turn = c->cause ? acting_turn(h, p, c) : begin(h, p, c);
	if (turn == INV_HOP_NONE)
		return INV_HOP_NONE;
	hop = add_hop(h, p->seq.kind == INV_SEQ_PRINT ? INV_HOP_PRINT :
							INV_HOP_MESSAGE);
	if (!hop)
		return INV_HOP_NONE;
	hop->request = c->request;
	hop->from = p->from;
	hop->aim = p->to;
	hop->to_text = p->to_text;
	hop->send_id = c->id;
	hop->sent_ns = p->seq.ts_ns;
	hop->signal = (uint8_t)c->signal;
	hop->certain = c->certain || !c->cause;
	hop->text = p->text;
	inv_hops_link(h, turn, h->n - 1);
	end_turn(h, turn, c->id, p->seq.ts_ns);
	return h->n - 1;
}

static void set_label(struct inv_hops *h, const struct inv_item *it,
		      uint32_t root, const struct inv_print_opts *o)
{
	const char *label = it->facts->label;
	size_t from = h->texts.len;
	struct inv_token tok;

	if (label) {
		inv_buf_puts(&h->texts, label);
		h->v[root].label = inv__hops_end_text(h, from);
	} else if (!inv_event_tracee(&it->ev, h->cursor, &tok)) {
		h->v[root].label = inv__hops_put_token(h, &tok, o);
	}
}

int inv_hops_add(struct inv_hops *h, const struct inv_item *it,
		 const struct inv_print_opts *o)
{
	const struct inv_cause *c = it->facts ? it->facts->cause : NULL;
	struct inv_hop_parts p;
	size_t texts = h->texts.len;
	uint32_t hops = h->n;
	uint32_t hop;
	bool receive;

	if (it->kind != INV_ITEM_EVENT || !c ||
	    !inv_seq_read(&p.seq, h->cursor, it))
		return 0;
	p.seq.ts_ns = it->ts_ns;
	receive = p.seq.kind == INV_SEQ_RECEIVE;
	if (inv__hops_read(h, it, &p, !receive || !c->cause || c->orphan, o))
		return INV_ENOMEM;
	if ((receive ? p.to : p.from) == INV_HOP_NONE)
		hop = INV_HOP_NONE;
	else
		hop = receive ? received(h, &p, c) : acted(h, &p, c);
	if (h->failed)
		return INV_ENOMEM;
	if (hop == INV_HOP_NONE) {
		h->texts.len = texts;
		h->left_out++;
		return 0;
	}
	if (!c->cause && h->n > hops)
		set_label(h, it, hops, o);
	h->v[hop].selected |= !it->facts->context;
	if (add_event(h, c->id, hop))
		return INV_ENOMEM;
	return h->texts.error;
}
