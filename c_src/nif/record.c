/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/record.h"

#include "base/err.h"
#include "base/likely.h"
#include "nif/atoms.h"
#include "nif/encode.h"
#include "nif/limits.h"
#include "nif/record_put.h"
#include "nif/tracer.h"

#define PREFETCH 512

static inline void init_encoder(struct inv_encoder *e, struct inv_tracer *t,
				struct inv_lane *lane,
				const struct inv_recording *ev, uint8_t *p,
				uint8_t *top)
{
	e->env = ev->of->env;
	e->dict = &lane->dict;
	e->fresh = &lane->fresh;
	e->p = p;
	e->top = top;
	e->max_bytes = t->max_bytes;
	e->more_binary = t->more_binary;
	e->max_depth = t->max_depth;
	e->cut = false;
	e->limit = p;
	e->redaction = t->redaction;
	e->redacted = 0;
	e->in_result = false;
	e->n_marked = 0;
}

/* Adds the number n of values that were redacted in an event to the lane's
 * counter. */
static INV_COLD void count_redacted(struct inv_lane *lane, uint32_t n)
{
	atomic_store_explicit(
		&lane->redacted,
		atomic_load_explicit(&lane->redacted, memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* Writes the event into the open packet. Returns false if it does not fit. */
static bool write_event(struct inv_tracer *t, struct inv_lane *lane,
			const struct inv_recording *ev)
{
	struct inv_producer *p = &lane->producer;
	struct inv_encoder e;

	/* If no event is committed in the packet, the dictionary can only have
	 * definitions of an earlier packet, or of an event that did not fit. */
	if (inv_unlikely(p->n == 0))
		inv_packet_dict_clear(&lane->dict);
	init_encoder(&e, t, lane, ev, p->data + p->ev,
		     p->data + p->data_len - p->def);
	/*
	 * The spooler used these cache lines last, so they are not in this
	 * CPU's cache. Prefetch the lines into which the next events go.
	 */
	__builtin_prefetch(e.p + PREFETCH, 1);
	if (!inv_record_put(&e, ev, p->last_ns))
		return false;
	if (inv_unlikely(e.redacted > 0))
		count_redacted(lane, e.redacted);
	if (t->limited)
		inv_limits_bytes(t, lane, (uint32_t)(e.p - (p->data + p->ev)));
	inv_producer_commit(p, (uint32_t)(e.p - p->data),
			    (uint32_t)(p->data + p->data_len - e.top), ev->now);
	return true;
}

/*
 * Writes an event that is larger than a packet into a large slot. The open
 * packet must be empty. Returns 0, or INV_EFULL with the reason in *why.
 */
INV_COLD static int write_large(struct inv_tracer *t, struct inv_lane *lane,
				const struct inv_recording *ev,
				enum inv_loss *why)
{
	struct inv_producer *p = &lane->producer;
	struct inv_ring_large *large;
	struct inv_encoder e;
	int i;

	*why = INV_LOSS_TOO_BIG;
	if (p->large.n == 0)
		return INV_EFULL;
	*why = INV_LOSS_FULL;
	/* The packet's begin_ns must be the time of its only event, so that
	 * readers know the time without reading the record. */
	if (p->begin_ns != ev->now && inv_producer_open_new(p, ev->now))
		return INV_EFULL;
	i = inv_producer_claim(p);
	if (i < 0)
		return INV_EFULL;
	large = inv_large_at(&p->large, (uint32_t)i);
	inv_packet_dict_clear(&lane->dict);
	init_encoder(&e, t, lane, ev, large->data,
		     large->data + p->large.data_len);
	if (!inv_record_put_large(&e, ev)) {
		inv_large_abandon(&p->large, (uint32_t)i);
		*why = INV_LOSS_TOO_BIG;
		return INV_EFULL;
	}
	if (e.redacted > 0)
		count_redacted(lane, e.redacted);
	if (t->limited)
		inv_limits_bytes(t, lane, (uint32_t)(e.p - large->data));
	inv_producer_commit_large(
		p, (uint32_t)i, (uint32_t)(e.p - large->data),
		(uint32_t)(large->data + p->large.data_len - e.top), ev->now);
	return 0;
}

/*
 * Counts an event as lost.  The limits count only recorded events, so the event
 * and its bytes are added to the thread's leases (nif/limits.h) again.
 */
INV_COLD static void drop(const struct inv_tracer *t, struct inv_lane *lane,
			  enum inv_loss why)
{
	if (t->limited)
		lane->events_lease++;
	if (t->rate)
		lane->rate_lease++;
	inv_producer_drop(&lane->producer, why);
}

static enum inv_ts_kind ts_kind_of(ERL_NIF_TERM atom)
{
	if (atom == inv_am_timestamp)
		return INV_TS_TIMESTAMP;
	if (atom == inv_am_cpu_timestamp)
		return INV_TS_CPU;
	if (atom == inv_am_monotonic)
		return INV_TS_MONOTONIC;
	if (atom == inv_am_strict_monotonic)
		return INV_TS_STRICT;
	return INV_TS_NONE;
}

static uint8_t flags_of(struct inv_recording *ev, bool light)
{
	const struct inv_tracer_event *te = ev->of;
	unsigned flags = 0;

	if (te->extra && ev->tag != INV_TAG_CALL)
		flags |= INV_EV_EXTRA;
	if (te->value)
		flags |= INV_EV_MS_RESULT;
	if (te->timestamp) {
		ev->ts_kind = ts_kind_of(te->timestamp);
		flags |= (unsigned)ev->ts_kind << INV_EV_TS_SHIFT;
	}
	if (te->scheduler &&
	    enif_get_uint(te->env, te->scheduler, &ev->scheduler))
		flags |= INV_EV_SCHED;
	if (inv_likely(!light))
		return (uint8_t)flags;
	flags |= INV_EV_LIGHT;
	if (ev->tag == INV_TAG_RETURN_FROM || ev->tag == INV_TAG_EXCEPTION_FROM)
		flags &= ~(unsigned)INV_EV_EXTRA; /* the value is left out */
	return (uint8_t)flags;
}

void inv_record(struct inv_tracer *t, struct inv_lane *lane,
		struct inv_recording *ev)
{
	struct inv_producer *p = &lane->producer;
	enum inv_loss why;

	ev->flags = flags_of(ev, t->light);
	inv_producer_offer(p);
	if (inv_unlikely(t->limited) && !inv_limits_take(t, lane, ev->now)) {
		inv_producer_drop(p, INV_LOSS_LIMIT);
		return;
	}
	for (;;) {
		if (inv_unlikely(inv_producer_open(p, ev->now) == INV_EFULL)) {
			drop(t, lane, INV_LOSS_FULL);
			return;
		}
		if (inv_likely(write_event(t, lane, ev)))
			return;
		if (p->n == 0) { /* the event is larger than a packet */
			if (write_large(t, lane, ev, &why))
				drop(t, lane, why);
			return;
		}
		inv_producer_close(p);
	}
}
