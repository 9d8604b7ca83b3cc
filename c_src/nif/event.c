/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/event.h"

#include <string.h>

#include "abi/event.h"
#include "abi/tracer_call.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/likely.h"
#include "nif/atoms.h"
#include "nif/bound.h"
#include "nif/delivery.h"
#include "nif/encode.h"
#include "nif/filter_check.h"
#include "nif/put.h"
#include "nif/redact.h"
#include "nif/retire.h"
#include "nif/starts.h"
#include "nif/tally.h"
#include "nif/thread.h"
#include "nif/times.h"
#include "nif/tracer.h"

#define PREFETCH 512

/* An event to be recorded. */
struct event {
	const struct inv_tracer_event *of;
	enum inv_tag tag;
	enum inv_ts_kind ts_kind;
	unsigned scheduler;
	uint8_t flags;
	bool ends; /* a call: the VM will report its end */
	uint64_t now;
};

/*
 * Notes in the slot that the VM has called enabled/3 for the tracer. If the
 * tracee is an atom, the call is about future processes or comes from the
 * engine, and is not noted. Returns false if a limit of the tracer is reached.
 */
static bool note_asked(ErlNifEnv *env, struct inv_slot *slot,
		       ERL_NIF_TERM tracee)
{
	uint8_t use = INV_USE_UNASKED;

	if (enif_is_atom(env, tracee))
		return atomic_load(&slot->use) != INV_USE_SPENT;
	return atomic_compare_exchange_strong(&slot->use, &use,
					      INV_USE_ASKED) ||
	       use != INV_USE_SPENT;
}

static inline bool is_in_use(ErlNifEnv *env, struct inv_slot *slot,
			     ERL_NIF_TERM tracee)
{
	return inv_likely(
		       atomic_load_explicit(&slot->use, memory_order_relaxed) ==
		       INV_USE_ASKED) ||
	       note_asked(env, slot, tracee);
}

/*
 * The answer for a tracer's other handles: a start handle (nif/starts.h), or the
 * handle of a tracer that is closed or has reached a limit.
 */
static INV_COLD ERL_NIF_TERM enabled_otherwise(ErlNifEnv *env, uint64_t handle,
					       const ERL_NIF_TERM argv[])
{
	struct inv_slot *slot = inv_slot_of(handle);

	if (handle & INV_HANDLE_STARTS &&
	    atomic_load_explicit(&slot->handle, memory_order_relaxed) ==
		    (handle & ~INV_HANDLE_STARTS) &&
	    is_in_use(env, slot, argv[2]))
		return argv[0] != inv_am_call ||
				       inv_starts_ask(handle, argv[2]) ?
			       inv_am_trace :
			       inv_am_discard;
	/*
	 * If the answer were discard, the VM would not advance the serial of the
	 * token, and so later messages could not be told apart.
	 */
	if (argv[0] == inv_am_seq_trace)
		return inv_am_trace;
	/*
	 * The result may be remove only for trace_status: for other tags some
	 * places in the VM treat remove as an error.
	 */
	return argv[0] == inv_am_trace_status && inv_retire_settled() ?
		       inv_am_remove :
		       inv_am_discard;
}

ERL_NIF_TERM inv_event_enabled(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_slot *slot;
	ErlNifUInt64 handle = 0;

	(void)argc;
	if (enif_get_uint64(env, argv[1], &handle) && handle != 0) {
		slot = inv_slot_of(handle);
		if (atomic_load_explicit(&slot->handle, memory_order_relaxed) ==
			    handle &&
		    is_in_use(env, slot, argv[2]) &&
		    !(inv_unlikely(atomic_load_explicit(
			      &slot->holds, memory_order_relaxed)) &&
		      argv[0] == inv_am_call &&
		      inv_bound_holds(slot, handle, argv[2])))
			return inv_am_trace;
	}
	return enabled_otherwise(env, handle, argv);
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

/* Reads Opts, a map with at most four keys and usually none. */
static void read_opts(struct inv_tracer_event *te, ERL_NIF_TERM opts)
{
	size_t n = 0;

	if (!enif_get_map_size(te->env, opts, &n))
		return;
	if (n > 0 &&
	    enif_get_map_value(te->env, opts, inv_am_extra, &te->extra))
		n--;
	if (n > 0 &&
	    enif_get_map_value(te->env, opts, inv_am_timestamp, &te->timestamp))
		n--;
	if (n > 0 && enif_get_map_value(te->env, opts, inv_am_match_spec_result,
					&te->value))
		n--;
	if (n > 0)
		enif_get_map_value(te->env, opts, inv_am_scheduler_id,
				   &te->scheduler);
}

static bool put_strict(struct inv_encoder *e)
{
	ErlNifSInt64 n = 0;

	enif_get_int64(
		e->env,
		enif_make_unique_integer(e->env, ERL_NIF_UNIQUE_MONOTONIC), &n);
	return inv_put_varint(e, inv_zigzag(n));
}

static bool put_options(struct inv_encoder *e, const struct event *ev)
{
	if (ev->flags & INV_EV_SCHED && !inv_put_varint(e, ev->scheduler))
		return false;
	if (ev->ts_kind == INV_TS_CPU &&
	    !inv_put_varint(e, inv_clock_ns(CLOCK_PROCESS_CPUTIME_ID)))
		return false;
	return ev->ts_kind != INV_TS_STRICT || put_strict(e);
}

/* Writes {send | 'receive' | print, Serial, From, To, Message}. Only the message
 * is data that rules redact. */
static bool put_seq(struct inv_encoder *e, const struct event *ev)
{
	ERL_NIF_TERM info = ev->of->content;
	const ERL_NIF_TERM *element;
	int arity;
	int i;

	if (!enif_get_tuple(e->env, info, &arity, &element) || arity != 5)
		return inv_encode_term(e, info);
	if (!inv_encode_tuple(e, 5))
		return false;
	for (i = 0; i < 4; i++)
		if (!inv_encode_plain(e, element[i]))
			return false;
	return ev->flags & INV_EV_LIGHT ? inv_encode_hole(e) :
					  inv_encode_term(e, element[4]);
}

/* The tags whose content is a function: {M, F, Args} or {M, F, Arity}. */
#define FUNCTION_TAGS                                                      \
	(1u << INV_TAG_CALL | 1u << INV_TAG_RETURN_TO |                    \
	 1u << INV_TAG_RETURN_FROM | 1u << INV_TAG_EXCEPTION_FROM |        \
	 1u << INV_TAG_IN | 1u << INV_TAG_OUT | 1u << INV_TAG_IN_EXITING | \
	 1u << INV_TAG_OUT_EXITING | 1u << INV_TAG_OUT_EXITED)

static inline bool put_content(struct inv_encoder *e, const struct event *ev)
{
	if (ev->tag < INV_TAG_COUNT && 1u << ev->tag & FUNCTION_TAGS)
		return inv_encode_function(e, ev->of->content, true);
	return inv_encode_term(e, ev->of->content);
}

static bool put_light(struct inv_encoder *e, const struct event *ev)
{
	switch (ev->tag) {
	case INV_TAG_SEND:
	case INV_TAG_SEND_NO_PROC:
	case INV_TAG_RECEIVE:
		return inv_encode_hole(e);
	case INV_TAG_CALL:
		return inv_encode_function(e, ev->of->content, false);
	case INV_TAG_SEQ_TRACE:
		return put_seq(e, ev);
	default:
		return put_content(e, ev);
	}
}

static bool put_extra(struct inv_encoder *e, const struct event *ev)
{
	if (ev->tag == INV_TAG_SPAWN || ev->tag == INV_TAG_SPAWNED)
		return inv_encode_function(e, ev->of->extra,
					   !(ev->flags & INV_EV_LIGHT));
	return inv_encode_term(e, ev->of->extra);
}

/* The tags whose content is no data: processes, ports, registered names, and
 * the figures of a garbage collection. */
#define PLAIN_TAGS                                                          \
	(1u << INV_TAG_SPAWN | 1u << INV_TAG_SPAWNED | 1u << INV_TAG_LINK | \
	 1u << INV_TAG_UNLINK | 1u << INV_TAG_GETTING_LINKED |              \
	 1u << INV_TAG_GETTING_UNLINKED | 1u << INV_TAG_REGISTER |          \
	 1u << INV_TAG_UNREGISTER | 1u << INV_TAG_GC_MINOR_START |          \
	 1u << INV_TAG_GC_MINOR_END | 1u << INV_TAG_GC_MAJOR_START |        \
	 1u << INV_TAG_GC_MAJOR_END | 1u << INV_TAG_GC_MAX_HEAP_SIZE |      \
	 1u << INV_TAG_OPEN)

static bool put_content_redacted(struct inv_encoder *e, const struct event *ev)
{
	if (ev->tag < INV_TAG_COUNT && 1u << ev->tag & PLAIN_TAGS)
		return inv_encode_plain(e, ev->of->content);
	if (ev->flags & INV_EV_LIGHT)
		return put_light(e, ev);
	if (ev->tag == INV_TAG_SEQ_TRACE)
		return put_seq(e, ev);
	if (ev->tag == INV_TAG_EXIT && e->redaction->rules.n_functions > 0)
		return inv_encode_shape(e, ev->of->content);
	return put_content(e, ev);
}

/* Writes {Class, Reason}. If any function has a rule, the exception may come from
 * it, and contain what the rule redacts. */
static bool put_exception(struct inv_encoder *e, ERL_NIF_TERM exception,
			  bool hidden)
{
	const ERL_NIF_TERM *element;
	int arity;

	if (!enif_get_tuple(e->env, exception, &arity, &element) || arity != 2)
		return inv_encode_shape(e, exception);
	return inv_encode_tuple(e, 2) && inv_encode_plain(e, element[0]) &&
	       (hidden ? inv_redact_mark(e, element[1]) :
			 inv_encode_shape(e, element[1]));
}

static bool put_extra_redacted(struct inv_encoder *e, const struct event *ev,
			       const struct inv_redact_call *call)
{
	switch (ev->tag) {
	case INV_TAG_SEND: /* the receiver */
	case INV_TAG_SEND_NO_PROC:
		return inv_encode_plain(e, ev->of->extra);
	case INV_TAG_RETURN_FROM:
		if (call->result)
			return inv_redact_mark(e, ev->of->extra);
		break;
	case INV_TAG_EXCEPTION_FROM:
		if (e->redaction->rules.n_functions > 0)
			return put_exception(e, ev->of->extra, call->result);
		break;
	default:
		break;
	}
	return put_extra(e, ev);
}

/* Like put_terms, with rules. */
__attribute__((noinline)) static bool put_terms_redacted(struct inv_encoder *e,
							 const struct event *ev)
{
	struct inv_redact_call call = { .any = false };

	if (ev->tag == INV_TAG_OTHER && !inv_encode_plain(e, ev->of->tag))
		return false;
	/* The tracee of seq_trace is the label. */
	if (!(ev->tag == INV_TAG_SEQ_TRACE ?
		      inv_encode_term(e, ev->of->tracee) :
		      inv_encode_plain(e, ev->of->tracee)))
		return false;
	if (ev->tag < INV_TAG_COUNT && 1u << ev->tag & FUNCTION_TAGS)
		inv_redact_function(e, ev->of->content, &call);
	if (!put_content_redacted(e, ev))
		return false;
	if (ev->flags & INV_EV_EXTRA && !put_extra_redacted(e, ev, &call))
		return false;
	if (!(ev->flags & INV_EV_MS_RESULT))
		return true;
	return call.any ? inv_encode_shape(e, ev->of->value) :
			  inv_encode_term(e, ev->of->value);
}

static bool put_terms(struct inv_encoder *e, const struct event *ev)
{
	if (inv_unlikely(e->redaction != NULL))
		return put_terms_redacted(e, ev);
	if (inv_unlikely(ev->tag == INV_TAG_OTHER) &&
	    !inv_encode_term(e, ev->of->tag))
		return false;
	if (!inv_encode_term(e, ev->of->tracee))
		return false;
	if (!(ev->flags & INV_EV_LIGHT ? put_light(e, ev) : put_content(e, ev)))
		return false;
	if (ev->flags & INV_EV_EXTRA && !put_extra(e, ev))
		return false;
	return !(ev->flags & INV_EV_MS_RESULT) ||
	       inv_encode_term(e, ev->of->value);
}

/* The flags that are in the record's head. */
#define HEAD_FLAGS (INV_EV_EXTRA | INV_EV_CUT)

static uint8_t head_of(const struct event *ev)
{
	unsigned head = ev->tag & INV_HEAD_TAG;

	if (ev->flags & INV_EV_EXTRA)
		head |= INV_HEAD_EXTRA;
	if (ev->ends)
		head |= INV_HEAD_ENDS;
	if (ev->flags & ~HEAD_FLAGS)
		head |= INV_HEAD_FLAGS;
	return (uint8_t)head;
}

/*
 * Notes in the record, whose head is at `head', that a mark is in its terms. Most
 * records have no byte of flags, and get it now.
 */
static INV_COLD bool flag_redacted(struct inv_encoder *e, uint8_t *head)
{
	if (!(head[0] & INV_HEAD_FLAGS)) {
		if (!inv_put_room(e, 1))
			return false;
		memmove(head + 2, head + 1, (size_t)(e->p - head) - 1);
		e->p++;
		head[0] |= INV_HEAD_FLAGS;
		head[1] = 0;
	}
	head[1] |= INV_EV_REDACTED;
	return true;
}

/* Writes the record without its length. */
static inline bool put_record(struct inv_encoder *e, const struct event *ev,
			      uint64_t last_ns)
{
	uint8_t *head = e->p;

	*e->p++ = head_of(ev);
	if (ev->flags & ~HEAD_FLAGS)
		*e->p++ = (uint8_t)(ev->flags & ~HEAD_FLAGS);
	e->p = inv_varint_put(e->p, ev->now - last_ns);
	if (!put_options(e, ev) || !put_terms(e, ev))
		return false;
	if (e->cut)
		*head |= INV_HEAD_CUT;
	if (inv_unlikely(e->redacted > 0))
		return flag_redacted(e, head);
	return true;
}

static bool put_event(struct inv_encoder *e, const struct event *ev,
		      uint64_t last_ns)
{
	uint8_t *start = e->p;

	if ((size_t)(e->top - e->p) < 3 + INV_VARINT_MAX)
		return false;
	e->p++;
	return put_record(e, ev, last_ns) && inv_put_length(e, start);
}

/* Like put_event, but with space for the longest length, because moving a large
 * record would take long. */
#define LONG_LENGTH 4u

static bool put_large_event(struct inv_encoder *e, const struct event *ev)
{
	uint8_t *start = e->p;
	uint32_t len;
	unsigned i;

	e->p += LONG_LENGTH;
	if (!put_record(e, ev, ev->now))
		return false;
	len = (uint32_t)(e->p - start) - LONG_LENGTH;
	for (i = 0; i < LONG_LENGTH; i++, len >>= 7)
		start[i] = (uint8_t)((len & 0x7f) |
				     (i + 1 < LONG_LENGTH ? 0x80 : 0));
	return true;
}

/*
 * Counts bytes against the limit. Bytes beyond the lease are taken from the
 * bytes that no thread has leased; otherwise a part of the last event of each
 * lease would not be counted.
 */
static void use_bytes(struct inv_tracer *t, struct inv_lane *lane,
		      uint32_t bytes)
{
	if (bytes <= lane->bytes_lease) {
		lane->bytes_lease -= bytes;
		return;
	}
	if (atomic_load_explicit(&t->bytes_left, memory_order_relaxed) !=
	    INT64_MAX)
		atomic_fetch_sub_explicit(&t->bytes_left,
					  bytes - lane->bytes_lease,
					  memory_order_relaxed);
	lane->bytes_lease = 0;
}

static inline void init_encoder(struct inv_encoder *e, struct inv_tracer *t,
				struct inv_lane *lane, const struct event *ev,
				uint8_t *p, uint8_t *top)
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
}

/* Adds the values that were redacted in an event to the lane's count. */
static INV_COLD void count_redacted(struct inv_lane *lane, uint32_t n)
{
	atomic_store_explicit(
		&lane->redacted,
		atomic_load_explicit(&lane->redacted, memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* Writes the event into the open packet. Returns false if it does not fit. */
static bool write_event(struct inv_tracer *t, struct inv_lane *lane,
			const struct event *ev)
{
	struct inv_producer *p = &lane->producer;
	struct inv_encoder e;

	/* The packet is new, or its first event did not fit. */
	if (inv_unlikely(p->n == 0))
		inv_packet_dict_clear(&lane->dict);
	init_encoder(&e, t, lane, ev, p->data + p->ev,
		     p->data + p->data_len - p->def);
	/*
	 * The spooler used these cache lines last, so they are not in this
	 * CPU's cache. Prefetches the lines of the next events.
	 */
	__builtin_prefetch(e.p + PREFETCH, 1);
	if (!put_event(&e, ev, p->last_ns))
		return false;
	if (inv_unlikely(e.redacted > 0))
		count_redacted(lane, e.redacted);
	if (t->limited)
		use_bytes(t, lane, (uint32_t)(e.p - (p->data + p->ev)));
	inv_producer_commit(p, (uint32_t)(e.p - p->data),
			    (uint32_t)(p->data + p->data_len - e.top), ev->now);
	return true;
}

/*
 * Writes the event, which does not fit into the open, empty packet, into a large
 * slot. Returns 0 or the loss in *why and INV_EFULL.
 */
INV_COLD static int write_large(struct inv_tracer *t, struct inv_lane *lane,
				const struct event *ev, enum inv_loss *why)
{
	struct inv_producer *p = &lane->producer;
	struct inv_ring_large *large;
	struct inv_encoder e;
	int i;

	*why = INV_LOSS_TOO_BIG;
	if (p->large.n == 0)
		return INV_EFULL;
	*why = INV_LOSS_FULL;
	/* The packet begins with its only event, whose time is then known
	 * without its record. */
	if (p->begin_ns != ev->now && inv_producer_open_new(p, ev->now))
		return INV_EFULL;
	i = inv_producer_claim(p);
	if (i < 0)
		return INV_EFULL;
	large = inv_large_at(&p->large, (uint32_t)i);
	inv_packet_dict_clear(&lane->dict);
	init_encoder(&e, t, lane, ev, large->data,
		     large->data + p->large.data_len);
	if (!put_large_event(&e, ev)) {
		inv_large_abandon(&p->large, (uint32_t)i);
		*why = INV_LOSS_TOO_BIG;
		return INV_EFULL;
	}
	if (e.redacted > 0)
		count_redacted(lane, e.redacted);
	if (t->limited)
		use_bytes(t, lane, (uint32_t)(e.p - large->data));
	inv_producer_commit_large(
		p, (uint32_t)i, (uint32_t)(e.p - large->data),
		(uint32_t)(large->data + p->large.data_len - e.top), ev->now);
	return 0;
}

static uint32_t lease(_Atomic int64_t *left, uint32_t want)
{
	int64_t was = atomic_load_explicit(left, memory_order_relaxed);

	/* INT64_MAX: there is no limit. */
	if (was == INT64_MAX)
		return want;
	was = atomic_fetch_sub_explicit(left, want, memory_order_relaxed);
	if (was >= (int64_t)want)
		return want;
	atomic_fetch_add_explicit(left, was > 0 ? want - was : want,
				  memory_order_relaxed);
	return was > 0 ? (uint32_t)was : 0;
}

/*
 * Ends recording, because a limit is reached.  Several threads may do so at
 * once. Stores the reason before the state, so that a thread that sees the
 * state finds the reason.
 */
static void spend(struct inv_tracer *t, enum inv_limit why)
{
	struct inv_slot *slot = inv_slot_of(t->handle);
	uint8_t use = atomic_load_explicit(&slot->use, memory_order_relaxed);
	uint8_t none = INV_LIMIT_NONE;

	atomic_compare_exchange_strong(&t->spent_by, &none, (uint8_t)why);

	while (use != INV_USE_SPENT) {
		inv_retire_add(slot);
		if (atomic_compare_exchange_weak(&slot->use, &use,
						 INV_USE_SPENT))
			return;
	}
}

/*
 * Takes one event from the leases.  Returns false if the tracer's limits allow
 * no more.  Not inlined, because most tracers have no limits.
 */
__attribute__((noinline)) static bool take_leases(struct inv_tracer *t,
						  struct inv_lane *lane,
						  uint64_t now)
{
	if (now >= atomic_load_explicit(&t->until, memory_order_relaxed)) {
		spend(t, INV_LIMIT_TIME);
		return false;
	}
	if (lane->bytes_lease == 0)
		lane->bytes_lease = lease(&t->bytes_left, INV_LEASE_BYTES);
	if (lane->events_lease == 0)
		lane->events_lease = lease(&t->events_left, INV_LEASE_EVENTS);
	if (lane->bytes_lease == 0 || lane->events_lease == 0) {
		spend(t, lane->events_lease == 0 ? INV_LIMIT_EVENTS :
						   INV_LIMIT_BYTES);
		return false;
	}
	if (t->rate) {
		if (lane->rate_lease == 0)
			lane->rate_lease = inv_rate_lease(t->rate, now);
		if (lane->rate_lease == 0)
			return false;
		lane->rate_lease--;
	}
	lane->events_lease--;
	return true;
}

/*
 * Counts a loss.  Limits count recorded events, so the leases get a dropped
 * event back.
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

static void record(struct inv_tracer *t, struct inv_lane *lane,
		   struct event *ev)
{
	struct inv_producer *p = &lane->producer;
	enum inv_loss why;

	inv_producer_offer(p);
	if (inv_unlikely(t->limited) && !take_leases(t, lane, ev->now)) {
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
		if (p->n == 0) { /* does not fit even into an empty packet */
			if (write_large(t, lane, ev, &why))
				drop(t, lane, why);
			return;
		}
		inv_producer_close(p);
	}
}

static uint8_t flags_of(struct event *ev, bool light)
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

enum outcome {
	TAKEN, /* recorded, delivered, unwanted, or dropped and counted */
	HELD,  /* the same, and the process is held (nif/bound.h) */
	GONE,  /* there is no such tracer */
	BAD    /* the arguments are not an event */
};

/*
 * Returns true if the tracer's filter wants the event, or wanted the call that
 * the event ends (was_wanted). So a filter of calls leaves out no durations.
 */
static bool filter(struct inv_tracer *t, struct inv_thread *thread,
		   const struct event *ev, enum inv_bound bound,
		   bool was_wanted)
{
	bool wanted;

	if (bound == INV_BOUND_ENDS && was_wanted)
		return true;
	wanted = inv_event_wanted(t, thread, ev->of, ev->tag);
	if (bound == INV_BOUND_BEGINS || bound == INV_BOUND_HOLDS)
		inv_bound_want(t, ev->of->tracee, wanted);
	return wanted;
}

/* Counts an event after the limit. */
INV_COLD static enum outcome come_late(struct inv_lane *lane)
{
	inv_producer_offer(&lane->producer);
	inv_producer_drop(&lane->producer, INV_LOSS_LIMIT);
	return TAKEN;
}

/* Adds an event of a call to the histograms. */
static enum outcome time_call(struct inv_tracer *t, struct inv_thread *thread,
			      const struct inv_tracer_event *te)
{
	uint64_t now = inv_mono_ns();

	if (inv_unlikely(now >= atomic_load_explicit(&t->until,
						     memory_order_relaxed))) {
		spend(t, INV_LIMIT_TIME);
		return come_late(&t->lanes[thread->index]);
	}
	switch (inv_times_event(t, thread->index, te, now)) {
	case INV_TIMED:
		return TAKEN;
	case INV_TIMED_HELD:
		return HELD;
	case INV_TIMED_OVER:
		return come_late(&t->lanes[thread->index]);
	default:
		return BAD;
	}
}

/* How many events a thread counts between two looks at the time limit. */
#define COUNTS_A_LOOK 256u

/*
 * Counts an event, and records nothing. An event costs no reading of the clock,
 * so a thread notices the time limit only at its next look. Events after the
 * limit are lost, and counted as such.
 */
static enum outcome count(struct inv_tracer *t, struct inv_thread *thread,
			  const struct inv_tracer_event *te)
{
	struct inv_lane *lane = &t->lanes[thread->index];

	if (inv_unlikely(
		    atomic_load_explicit(&t->spent_by, memory_order_relaxed) !=
		    INV_LIMIT_NONE))
		return come_late(lane);
	if (t->timing)
		return time_call(t, thread, te);
	if (!inv_tally_event(t, thread->index, te))
		return BAD;
	if (inv_unlikely(++lane->events_lease >= COUNTS_A_LOOK)) {
		lane->events_lease = 0;
		if (inv_mono_ns() >=
		    atomic_load_explicit(&t->until, memory_order_relaxed))
			spend(t, INV_LIMIT_TIME);
	}
	return TAKEN;
}

/* Takes an event of a tracer that counts or delivers. */
__attribute__((noinline)) static enum outcome take_elsewhere(
	struct inv_tracer *t, struct inv_thread *thread,
	const struct inv_tracer_event *te)
{
	if (!t->delivery)
		return count(t, thread, te);
	inv_delivery_event(t->delivery, thread->index, te);
	return TAKEN;
}

static enum outcome take(struct inv_tracer *t, struct inv_thread *thread,
			 const struct inv_tracer_event *te)
{
	struct event ev = { .of = te, .ts_kind = INV_TS_NONE };
	enum inv_bound bound = INV_BOUND_RECORD;
	struct inv_tracer_event plain;
	uint32_t function;
	bool wanted = true;

	if (inv_unlikely(t->elsewhere))
		return take_elsewhere(t, thread, te);
	ev.now = inv_mono_ns();
	ev.tag = inv_atoms_tag(te->tag);
	if (inv_unlikely(ev.tag == INV_TAG_SEQ_TRACE)) {
		if (!inv_starts_is_ours(&inv_slot_of(t->handle)->starts, te))
			return TAKEN;
		inv_starts_received(t, te);
	}
	/* The VM's tags are all atoms, and readers can read no other tag. */
	if (inv_unlikely(ev.tag == INV_TAG_OTHER) &&
	    !enif_is_atom(te->env, te->tag))
		return BAD;
	if (inv_unlikely(atomic_load_explicit(&t->open_calls,
					      memory_order_relaxed) != NULL)) {
		wanted = inv_bound_wanted(t, te->tracee);
		bound = inv_bound_count(t, ev.tag, &ev.of, &plain, &function);
		if (bound == INV_BOUND_LEAVE_OUT)
			return TAKEN;
		ev.ends = bound == INV_BOUND_BEGINS || bound == INV_BOUND_HOLDS;
	}
	ev.flags = flags_of(&ev, t->light);
	if (inv_unlikely(
		    atomic_load_explicit(&t->filter, memory_order_relaxed)))
		wanted = filter(t, thread, &ev, bound, wanted);
	else
		wanted = true;
	if (inv_likely(wanted))
		record(t, &t->lanes[thread->index], &ev);
	return bound == INV_BOUND_HOLDS ? HELD : TAKEN;
}

/* Returns true if the handle is a start handle of the slot's tracer. */
static bool is_start(const struct inv_slot *slot, uint64_t handle)
{
	return handle & INV_HANDLE_STARTS &&
	       atomic_load_explicit(&slot->handle, memory_order_acquire) ==
		       (handle & ~INV_HANDLE_STARTS);
}

static enum outcome offer(uint64_t handle, const struct inv_tracer_event *te)
{
	struct inv_slot *slot = inv_slot_of(handle);
	struct inv_thread *thread = inv_thread_self();
	enum outcome outcome = GONE;
	struct inv_tracer_event changed;

	if (inv_unlikely(!thread)) {
		if (atomic_load(&slot->handle) != handle)
			return GONE;
		atomic_fetch_add(&slot->no_ring, 1);
		return TAKEN;
	}
	inv_thread_enter(thread, (uint32_t)(slot - inv_slots));
	if (atomic_load_explicit(&slot->handle, memory_order_acquire) == handle)
		outcome = take(slot->tracer, thread, te);
	else if (is_start(slot, handle))
		outcome = inv_starts_take(slot->tracer, handle, &te, &changed) ?
				  take(slot->tracer, thread, te) :
				  TAKEN;
	inv_thread_leave(thread);
	return outcome;
}

ERL_NIF_TERM inv_event_trace(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	struct inv_tracer_event te = {
		.env = env,
		.tag = argv[0],
		.tracee = argv[2],
		.content = argv[3],
	};
	ErlNifUInt64 handle;

	(void)argc;
	if (!enif_get_uint64(env, argv[1], &handle) || handle == 0)
		return inv_am_ok;
	read_opts(&te, argv[4]);
	return offer(handle, &te) == BAD ? enif_make_badarg(env) : inv_am_ok;
}

enum inv_tracer_took INV_TRACER_CALL(uint64_t handle,
				     const struct inv_tracer_event *te)
{
	if (handle == 0 ||
	    atomic_load_explicit(&inv_slot_of(handle)->use,
				 memory_order_relaxed) == INV_USE_SPENT)
		return INV_TRACER_GONE;
	switch (offer(handle, te)) {
	case TAKEN:
		return INV_TRACER_TOOK;
	case HELD:
		return INV_TRACER_HELD;
	default:
		return INV_TRACER_GONE;
	}
}
