/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/verdict.h"

#include "base/likely.h"
#include "nif/bound_count.h"
#include "nif/decide.h"
#include "nif/encode.h"
#include "nif/filter_check.h"
#include "nif/limits.h"
#include "nif/record.h"
#include "nif/thread.h"
#include "nif/tracer.h"

/* Handles a call. It is recorded now, or kept until it ends. */
static enum inv_outcome begin(struct inv_tracer *t, struct inv_thread *thread,
			      struct inv_recording *ev, enum inv_bound bound,
			      const struct inv_bound_call *call)
{
	bool wanted;

	if (inv_unlikely(t->limited && inv_limits_over(t, ev->now))) {
		inv_limits_late(&t->lanes[thread->index]);
		return INV_TAKEN;
	}
	wanted = inv_is_wanted(t, thread, ev->of, ev->tag, bound, false);
	if (inv_unlikely(inv_decide_begin(t, thread->index, ev->of, call,
					  ev->now, wanted) &&
			 wanted))
		inv_record(t, &t->lanes[thread->index], ev);
	if (inv_likely(bound != INV_BOUND_HOLDS))
		return INV_TAKEN;
	inv_decide_held(t, thread->index, ev->of->tracee);
	return INV_HELD;
}

static bool record_wanted(struct inv_tracer *t, struct inv_thread *thread,
			  struct inv_recording *ev, enum inv_bound bound,
			  bool was_wanted)
{
	if (!inv_is_wanted(t, thread, ev->of, ev->tag, bound, was_wanted))
		return false;
	inv_record(t, &t->lanes[thread->index], ev);
	return true;
}

static enum inv_outcome end(struct inv_tracer *t, struct inv_thread *thread,
			    struct inv_arrival *a, struct inv_recording *ev,
			    bool was_wanted, uint32_t function)
{
	struct inv_whole whole;
	const struct inv_decide_event of = { a, ev->tag, function, ev->now };
	enum inv_verdict verdict = inv_decide_end(t, thread, &of, &whole);

	if (inv_likely(verdict == INV_VERDICT_FORGET))
		return INV_TAKEN;
	(void)inv_arrival_whole(a);
	if (verdict == INV_VERDICT_WHOLE)
		ev->whole = &whole;
	/* If the call was kept when it began, and is recorded only now, the
	 * filter has already selected it. Otherwise ask the filter about the
	 * end of the call. */
	if (ev->whole && whole.call)
		inv_record(t, &t->lanes[thread->index], ev);
	else
		(void)record_wanted(t, thread, ev, INV_BOUND_ENDS, was_wanted);
	ev->whole = NULL;
	if (verdict == INV_VERDICT_WHOLE)
		inv_decide_done(t, thread->index, ev->of->tracee, &whole);
	return INV_TAKEN;
}

static INV_COLD enum inv_outcome exits(struct inv_tracer *t,
				       struct inv_thread *thread,
				       struct inv_arrival *a,
				       struct inv_recording *ev)
{
	struct inv_whole whole;
	enum inv_verdict verdict = inv_decide_exit(t, a, ev->now, &whole);

	(void)inv_arrival_whole(a);
	if (verdict == INV_VERDICT_WHOLE)
		ev->whole = &whole;
	/* If the exit is not recorded, do not record the call that it ends. */
	if (!record_wanted(t, thread, ev, INV_BOUND_RECORD, false) &&
	    verdict == INV_VERDICT_WHOLE)
		verdict = INV_VERDICT_RECORD;
	ev->whole = NULL;
	if (verdict != INV_VERDICT_FORGET)
		inv_decide_exited(t, thread->index, ev->of->tracee, verdict);
	return INV_TAKEN;
}

/* Handles an event of a function for which the VM reports no ends of calls. */
static INV_COLD enum inv_outcome endless(struct inv_tracer *t,
					 struct inv_thread *thread,
					 struct inv_arrival *a,
					 struct inv_recording *ev,
					 uint32_t function)
{
	(void)inv_arrival_whole(a);
	if (inv_is_wanted(t, thread, ev->of, ev->tag, INV_BOUND_RECORD,
			  false) &&
	    (ev->tag != INV_TAG_CALL || function == INV_BOUND_UNKNOWN ||
	     inv_decide_endless(t, thread->index, function)))
		inv_record(t, &t->lanes[thread->index], ev);
	return INV_TAKEN;
}

enum inv_outcome inv_verdict(struct inv_tracer *t, struct inv_thread *thread,
			     struct inv_arrival *a, enum inv_tag tag)
{
	struct inv_recording ev = {
		.of = &a->te,
		.tag = tag,
		.ts_kind = INV_TS_NONE,
		.now = inv_arrival_time(a, thread),
	};
	struct inv_bound_call call;
	struct inv_tracer_event plain;
	enum inv_bound bound;
	bool was_wanted;

	if (tag == INV_TAG_EXIT)
		return exits(t, thread, a, &ev);
	if (tag == INV_TAG_CALL)
		(void)inv_arrival_whole(a);
	was_wanted = inv_was_wanted(t, a->te.tracee);
	bound = inv_bound_count(t, tag, &ev.of, &plain, &call);
	switch (bound) {
	case INV_BOUND_BEGINS:
	case INV_BOUND_HOLDS:
		ev.ends = true;
		return begin(t, thread, &ev, bound, &call);
	case INV_BOUND_ENDS:
		return end(t, thread, a, &ev, was_wanted, call.function);
	case INV_BOUND_LEAVE_OUT:
		inv_decide_left_out(t, thread->index, ev.of, ev.tag, &call,
				    ev.now);
		return INV_TAKEN;
	default:
		return endless(t, thread, a, &ev, call.function);
	}
}
