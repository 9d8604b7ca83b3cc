/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/likely.h"
#include "flow/requests_int.h"

#include <uthash.h>

const char *inv_orphan_text(enum inv_orphan orphan)
{
	switch (orphan) {
	case INV_ORPHAN_LOST:
		return "lost";
	case INV_ORPHAN_UNTRACED:
		return "untraced";
	case INV_ORPHAN_IN_FLIGHT:
		return "in_flight";
	default:
		return NULL;
	}
}

void inv_requests_init(struct inv_requests *r, size_t memory)
{
	memset(r, 0, sizeof(*r));
	if (!memory)
		memory = INV_REQUESTS_MEMORY;
	/* Half of the memory is for sent messages, half for processes. In the
	 * hash tables, each message takes another 32 bytes, and each process
	 * another 16 bytes. */
	r->most_sent = memory / 2 / (sizeof(struct inv_sent) + 32) + 1;
	r->most_parties = memory / 2 / (sizeof(struct inv_party) + 16) + 2;
}

void inv_requests_release(struct inv_requests *r)
{
	inv__parties_release(r);
	inv__sent_release(r);
	free(r->nodes);
	memset(r, 0, sizeof(*r));
}

/* --- nodes ---------------------------------------------------------------- */

struct inv_request_node *inv_requests_node(struct inv_requests *r, uint64_t key)
{
	struct inv_request_node *more;

	for (uint32_t i = 0; i < r->n_nodes; i++)
		if (r->nodes[i].key == key)
			return &r->nodes[i];
	more = realloc(r->nodes, (r->n_nodes + 1) * sizeof(*more));
	if (!more)
		return NULL;
	r->nodes = more;
	more += r->n_nodes++;
	*more = (struct inv_request_node){ .key = key };
	return more;
}

static struct inv_request_node node_of(const struct inv_requests *r,
				       uint64_t key)
{
	for (uint32_t i = 0; i < r->n_nodes; i++)
		if (r->nodes[i].key == key)
			return r->nodes[i];
	return (struct inv_request_node){ .key = key };
}

/* --- causes --------------------------------------------------------------- */

static void follow(struct inv_cause *cause, const struct inv_origin *o,
		   bool certain)
{
	cause->cause = o->shown;
	cause->request = o->request;
	cause->certain = certain;
}

/* Returns why an event of the node is missing. `later': the event can also be
 * after the end of the node's log. */
static enum inv_orphan why(const struct inv_requests *r, uint64_t node,
			   bool later)
{
	const struct inv_request_node n = node_of(r, node);

	if (!n.recorded)
		return INV_ORPHAN_UNTRACED;
	if (n.lost)
		return INV_ORPHAN_LOST;
	return n.unfinished && later ? INV_ORPHAN_IN_FLIGHT :
				       INV_ORPHAN_UNTRACED;
}

/* Returns the turn to which an event with this label and Prev belongs, if
 * there is only one such turn. */
static const struct inv_turn *only_turn(struct inv_party *p, uint64_t label,
					uint64_t prev)
{
	const struct inv_turn *found = inv__turn_find(p, label, prev);
	const struct inv_turn *t;

	for (unsigned i = 0; i < INV_TURNS && (t = inv__turn_past(p, i)); i++)
		if (t != found && t->label == label &&
		    inv__turn_has_serial(t, prev))
			return NULL;
	return found;
}

/*
 * Finds the cause of a received message whose send event is missing: an earlier
 * event of the turn in which the message was sent. If events of the sender's
 * node were lost, finds no cause, because several turns can then have had this
 * serial.
 */
static void received_orphan(struct inv_requests *r, const struct inv_seq *s,
			    struct inv_cause *cause)
{
	struct inv_party *p = inv__party_find(r, s->from);
	const struct inv_turn *t = NULL;

	cause->orphan = why(r, s->from_node, !p || p->clock < s->cur);
	if (p && cause->orphan != INV_ORPHAN_LOST)
		t = only_turn(p, s->label, s->prev);
	/* An event can be the cause of the message only if its serial is lower
	 * than that of the message. */
	if (t && t->last_clock < s->cur)
		follow(cause, &t->last, false);
	else if (t && t->begin_clock < s->cur)
		follow(cause, &t->begin, false);
}

static void received(struct inv_requests *r, const struct inv_seq *s,
		     struct inv_cause *cause)
{
	struct inv_sent *x = inv__sent_find(r, s);

	if (!x) {
		received_orphan(r, s, cause);
		return;
	}
	r->counts.messages++;
	/* Only the send event shows that the message is the arguments of a
	 * spawn. */
	if (x->signal == INV_SIGNAL_SPAWN_ARGS)
		cause->signal = x->signal;
	if (x->origin.request)
		follow(cause, &x->origin, !x->repeated);
	else
		cause->orphan = INV_ORPHAN_UNTRACED;
	if (!x->more--)
		inv__sent_drop(r, x);
}

/* Returns true if an event with this Prev begins a request: Prev is 0, so the
 * process has never received a message; or the process has received the serial
 * Prev, but with another label. */
static bool is_first(struct inv_party *p, uint64_t prev)
{
	struct inv_turn *t;

	for (unsigned i = 0; i < INV_TURNS && (t = inv__turn_past(p, i)); i++)
		if (inv__turn_has_serial(t, prev) ||
		    inv__turn_is_tagged(t, prev))
			return true;
	return !prev;
}

static bool has_received(struct inv_party *p)
{
	struct inv_turn *t;

	for (unsigned i = 0; i < INV_TURNS && (t = inv__turn_past(p, i)); i++)
		if (t->received)
			return true;
	return false;
}

/*
 * Finds the cause of a send or print event of p that belongs to no known turn:
 * no known receive event of p has both the event's label and, as its serial,
 * the event's Prev. Either the event begins a request, or that receive event is
 * missing.
 */
static void acted_first(struct inv_requests *r, const struct inv_seq *s,
			struct inv_party *p, struct inv_cause *cause)
{
	enum inv_orphan orphan = why(r, s->from_node, false);
	struct inv_sent *x;

	if (orphan == INV_ORPHAN_LOST) {
		/* Only the first event of a process certainly has no cause. */
		cause->certain = !s->prev && s->cur == p->clock + 1;
		if (!cause->certain)
			cause->orphan = orphan;
		return;
	}
	if (p->begins || is_first(p, s->prev)) {
		cause->certain = true;
		return;
	}
	x = inv__sent_find_to(r, s->label, p->key, s->prev);
	if (x && !x->others && !x->repeated && x->origin.request) {
		/* The receive event of this message is missing. */
		follow(cause, &x->origin, false);
		cause->orphan = orphan;
		inv__sent_drop(r, x);
	} else if (x || has_received(p) || r->counts.forgotten) {
		cause->orphan = orphan;
	}
	/* Otherwise the event begins a request, but this is not certain: Prev
	 * may come from a request that was not recorded. */
}

/* If Prev is at least this, the VM's counters have reached their maximum, and
 * messages have equal serials. Then the last message that the process received
 * is taken as the cause. */
#define SERIAL_END (UINT64_C(1) << 55)

static struct inv_turn *turn_at_end(struct inv_party *p,
				    const struct inv_seq *s)
{
	struct inv_turn *t = inv__turn_past(p, 0);

	return t && s->prev >= SERIAL_END && t->label == s->label &&
			       t->replied && t->received ?
		       t :
		       NULL;
}

/*
 * Finds the cause of an event of p: a send, or a print. Returns the turn of the
 * event, or NULL if the event belongs to no known turn.
 */
static struct inv_turn *acted(struct inv_requests *r, const struct inv_seq *s,
			      struct inv_party *p, struct inv_cause *cause)
{
	struct inv_turn *t = inv__turn_find(p, s->label, s->prev);

	if (t) {
		if (inv_unlikely(!inv__turn_has_serial(t, s->prev))) {
			t->changed = s->prev;
			r->counts.repaired++;
		}
		/* If events of the node were lost, the cause is not certain: a
		 * lost event can be the receive event of another message with
		 * an equal serial. */
		follow(cause, &t->begin,
		       !t->missing && !node_of(r, s->from_node).lost);
		return t;
	}
	t = turn_at_end(p, s);
	if (t) {
		t->changed = s->prev;
		r->counts.repeated++;
		follow(cause, &t->begin, false);
		return t;
	}
	acted_first(r, s, p, cause);
	return NULL;
}

/* --- events --------------------------------------------------------------- */

bool inv_requests_ready(struct inv_requests *r, const struct inv_seq *receive)
{
	const struct inv_party *p;

	if (!node_of(r, receive->from_node).recorded ||
	    inv__sent_find(r, receive))
		return true;
	p = inv__party_find(r, receive->from);
	return p && p->clock >= receive->cur;
}

bool inv_requests_sent(const struct inv_requests *r,
		       const struct inv_seq *receive, int64_t *ts_ns)
{
	const struct inv_sent *x = inv__sent_find(r, receive);

	if (x)
		*ts_ns = x->ts_ns;
	return x != NULL;
}

/* Adds the event to the turn t of p. If t is NULL, the event begins a turn. */
static void add_to_turn(struct inv_requests *r, struct inv_party *p,
			struct inv_turn *t, const struct inv_seq *s,
			const struct inv_cause *cause)
{
	const struct inv_origin o = { cause->cause, cause->request };
	bool received = s->kind == INV_SEQ_RECEIVE;

	/* The serial of a sent message becomes the clock even if it is smaller
	 * than the clock: seq_trace:reset_trace() has then reset the serial. */
	if (!received || s->cur > p->clock)
		p->clock = s->cur;
	if (!t) {
		t = inv__turn_add(p, s, received ? s->cur : s->prev);
		t->begin = o;
		t->begin_clock = p->clock;
		t->received = received;
		t->replied = received && (s->signal == INV_SIGNAL_SPAWN_REPLY ||
					  s->signal == INV_SIGNAL_UNKNOWN);
		t->missing = !received && !cause->certain;
		r->shows[0] = &t->begin.shown;
	}
	p->begins = false;
	t->last = o;
	t->last_clock = p->clock;
	r->shows[1] = &t->last.shown;
}

int inv_requests_begin(struct inv_requests *r, uint64_t process)
{
	struct inv_party *p = inv__party_get(r, process);

	if (!p)
		return INV_ENOMEM;
	memset(p->turns, 0, sizeof(p->turns));
	p->begins = true;
	return 0;
}

int inv_requests_add(struct inv_requests *r, const struct inv_seq *s,
		     struct inv_cause *cause)
{
	struct inv_party *p = inv__party_get(r, inv_seq_process(s));
	struct inv_turn *t = NULL;
	struct inv_origin o;

	if (!p)
		return INV_ENOMEM;
	memset(r->shows, 0, sizeof(r->shows));
	*cause = (struct inv_cause){ .id = ++r->counts.events,
				     .signal = s->signal };
	r->id = cause->id;
	if (s->kind == INV_SEQ_RECEIVE)
		received(r, s, cause);
	else
		t = acted(r, s, p, cause);
	if (!cause->request)
		cause->request = ++r->counts.requests;
	r->counts.orphans[cause->orphan]++;
	add_to_turn(r, p, t, s, cause);
	if (s->kind != INV_SEQ_SEND || s->signal == INV_SIGNAL_PORT)
		return 0;
	o = (struct inv_origin){ cause->cause, cause->request };
	return inv__sent_add(r, s, &o);
}

void inv_requests_show(struct inv_requests *r)
{
	for (unsigned i = 0; i < 3; i++)
		if (r->shows[i])
			*r->shows[i] = r->id;
}

uint64_t inv_requests_in_flight(const struct inv_requests *r)
{
	return HASH_CNT(hh, r->sent);
}
