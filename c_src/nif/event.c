/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/event.h"

#include "abi/event.h"
#include "abi/tracer_call.h"
#include "base/likely.h"
#include "nif/aggregate.h"
#include "nif/arrival.h"
#include "nif/atoms.h"
#include "nif/bound_count.h"
#include "nif/encode.h"
#include "nif/filter_check.h"
#include "nif/record.h"
#include "nif/retire.h"
#include "nif/starts.h"
#include "nif/thread.h"
#include "nif/tracer.h"
#include "nif/verdict.h"

/*
 * Notes in the slot that the VM has called enabled/3 for the tracer. If the
 * tracee is an atom, the call of enabled/3 is about future processes or comes
 * from the engine; then this function notes nothing. Returns false if a limit
 * of the tracer is reached.
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
 * Returns the result of enabled/3 for a start handle (nif/starts.h), and for
 * the handle of a tracer that is closed or has reached a limit.
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
	 * If the result were `discard', the VM would not advance the serial of
	 * the token, so several messages would have the same serial.
	 */
	if (argv[0] == inv_am_seq_trace)
		return inv_am_trace;
	/*
	 * The result may be `remove' only for the tag trace_status. For other
	 * tags, some places in the VM treat `remove' as an error.
	 */
	return argv[0] == inv_am_trace_status && inv_retire_settled() ?
		       inv_am_remove :
		       inv_am_discard;
}

/* Computes the result of enabled/3 if the guess of the tracer's slot was wrong,
 * the state of the tracer is not INV_USE_ASKED, or processes may be held
 * (nif/bound.h). */
static INV_COLD ERL_NIF_TERM enabled_slowly(ErlNifEnv *env,
					    const ERL_NIF_TERM argv[])
{
	struct inv_slot *slot;
	ErlNifUInt64 handle = 0;

	if (enif_get_uint64(env, argv[1], &handle) && handle != 0) {
		slot = inv_slot_of(handle);
		if (atomic_load_explicit(&slot->handle, memory_order_relaxed) ==
			    handle &&
		    is_in_use(env, slot, argv[2]) &&
		    !(atomic_load_explicit(&slot->holds,
					   memory_order_relaxed) &&
		      argv[0] == inv_am_call &&
		      inv_bound_holds(slot, handle, argv[2])))
			return inv_am_trace;
	}
	return enabled_otherwise(env, handle, argv);
}

ERL_NIF_TERM inv_event_enabled(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	const struct inv_slot *slot = inv_slot_guess(argv[1]);

	(void)argc;
	if (inv_likely(
		    inv_slot_has(slot, argv[1]) &&
		    atomic_load_explicit(&slot->use, memory_order_relaxed) ==
			    INV_USE_ASKED &&
		    !atomic_load_explicit(&slot->holds, memory_order_relaxed)))
		return inv_am_trace;
	return enabled_slowly(env, argv);
}

/* Handles an event of a tracer that records. `bounded' is true if the tracer
 * has a table of open calls. */
static inline enum inv_outcome record(struct inv_tracer *t,
				      struct inv_thread *thread,
				      struct inv_arrival *a, enum inv_tag tag,
				      bool bounded)
{
	struct inv_recording ev = {
		.tag = tag,
		.ts_kind = INV_TS_NONE,
		.now = inv_arrival_time(a, thread),
		.of = inv_arrival_whole(a),
	};
	struct inv_bound_call call;
	enum inv_bound bound = INV_BOUND_RECORD;
	struct inv_tracer_event plain;
	bool wanted = true;

	if (inv_unlikely(ev.tag == INV_TAG_SEQ_TRACE)) {
		if (!inv_starts_is_ours(&inv_slot_of(t->handle)->starts, ev.of))
			return INV_TAKEN;
		inv_starts_received(t, ev.of);
	}
	/* The VM's tags are always atoms. Readers of logs accept no other
	 * terms as tags. */
	if (inv_unlikely(ev.tag == INV_TAG_OTHER) &&
	    !enif_is_atom(a->te.env, a->te.tag))
		return INV_BAD;
	if (inv_unlikely(bounded)) {
		wanted = inv_was_wanted(t, a->te.tracee);
		bound = inv_bound_count(t, ev.tag, &ev.of, &plain, &call);
		if (bound == INV_BOUND_LEAVE_OUT)
			return INV_TAKEN;
		ev.ends = bound == INV_BOUND_BEGINS || bound == INV_BOUND_HOLDS;
	}
	if (inv_is_wanted(t, thread, ev.of, ev.tag, bound, wanted))
		inv_record(t, &t->lanes[thread->index], &ev);
	return bound == INV_BOUND_HOLDS ? INV_HELD : INV_TAKEN;
}

static enum inv_outcome take(struct inv_tracer *t, struct inv_thread *thread,
			     struct inv_arrival *a)
{
	enum inv_tag tag;
	bool bounded;

	if (inv_unlikely(t->elsewhere))
		return inv_aggregate(t, thread, a);
	bounded = atomic_load_explicit(&t->open_calls, memory_order_relaxed) !=
		  NULL;
	tag = inv_atoms_tag(a->te.tag);
	if (inv_unlikely(t->decide != NULL) && bounded && inv_verdict_on(tag))
		return inv_verdict(t, thread, a, tag);
	return record(t, thread, a, tag, bounded);
}

/* Returns true if the handle is a start handle (nif/starts.h) of the slot's
 * tracer. */
static bool is_start(const struct inv_slot *slot, uint64_t handle)
{
	return handle & INV_HANDLE_STARTS &&
	       atomic_load_explicit(&slot->handle, memory_order_acquire) ==
		       (handle & ~INV_HANDLE_STARTS);
}

static enum inv_outcome offer(uint64_t handle, struct inv_arrival *a)
{
	struct inv_slot *slot = inv_slot_of(handle);
	struct inv_thread *thread = inv_thread_self();
	enum inv_outcome outcome = INV_GONE;
	const struct inv_tracer_event *te;
	struct inv_tracer_event changed;

	if (inv_unlikely(!thread)) {
		if (atomic_load(&slot->handle) != handle)
			return INV_GONE;
		atomic_fetch_add(&slot->no_ring, 1);
		return INV_TAKEN;
	}
	inv_thread_enter(thread, (uint32_t)(slot - inv_slots));
	if (atomic_load_explicit(&slot->handle, memory_order_acquire) ==
	    handle) {
		outcome = take(slot->tracer, thread, a);
	} else if (is_start(slot, handle)) {
		outcome = INV_TAKEN;
		te = inv_arrival_whole(a);
		if (inv_starts_take(slot->tracer, handle, &te, &changed)) {
			if (te != &a->te)
				a->te = *te;
			outcome = take(slot->tracer, thread, a);
		}
	}
	inv_thread_leave(thread);
	return outcome;
}

/* Passes the event to the tracer in the slot that inv_slot_guess returns. If
 * the guess is wrong, returns INV_GONE. */
static inline enum inv_outcome offer_guess(ERL_NIF_TERM state,
					   struct inv_arrival *a)
{
	const struct inv_slot *slot = inv_slot_guess(state);
	struct inv_thread *thread = inv_thread_self();
	enum inv_outcome outcome = INV_GONE;

	if (inv_unlikely(!thread))
		return INV_GONE;
	inv_thread_enter(thread, (uint32_t)(slot - inv_slots));
	if (inv_likely(inv_slot_has(slot, state)))
		outcome = take(slot->tracer, thread, a);
	inv_thread_leave(thread);
	return outcome;
}

static INV_COLD enum inv_outcome offer_slowly(ERL_NIF_TERM state,
					      struct inv_arrival *a)
{
	ErlNifUInt64 handle;

	return enif_get_uint64(a->te.env, state, &handle) && handle != 0 ?
		       offer(handle, a) :
		       INV_GONE;
}

ERL_NIF_TERM inv_event_trace(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	struct inv_arrival a = {
		.te.env = env,
		.te.tag = argv[0],
		.te.tracee = argv[2],
		.te.content = argv[3],
		.opts = argv[4],
	};
	enum inv_outcome outcome = offer_guess(argv[1], &a);

	(void)argc;
	if (inv_unlikely(outcome == INV_GONE))
		outcome = offer_slowly(argv[1], &a);
	return inv_likely(outcome != INV_BAD) ? inv_am_ok :
						enif_make_badarg(env);
}

enum inv_tracer_took INV_TRACER_CALL(uint64_t handle,
				     const struct inv_tracer_event *te)
{
	struct inv_arrival a = { .te = *te };

	if (handle == 0 ||
	    atomic_load_explicit(&inv_slot_of(handle)->use,
				 memory_order_relaxed) == INV_USE_SPENT)
		return INV_TRACER_GONE;
	switch (offer(handle, &a)) {
	case INV_TAKEN:
		return INV_TRACER_TOOK;
	case INV_HELD:
		return INV_TRACER_HELD;
	default:
		return INV_TRACER_GONE;
	}
}
