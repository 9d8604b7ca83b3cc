/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/filter_check.h"

/*
 * Returns the tracer's filter, or NULL if it has none now. Publishes the filter
 * as the thread's hazard pointer, until inv_thread_let_go is called.
 */
static const struct inv_event_filter *hold(struct inv_tracer *t,
					   struct inv_thread *thread)
{
	const struct inv_event_filter *f = atomic_load(&t->filter);
	const struct inv_event_filter *was;

	do { /* repeat if the filter was exchanged before it was published */
		was = f;
		inv_thread_hold(thread, was);
		f = atomic_load_explicit(&t->filter, memory_order_acquire);
	} while (f != was);
	return f;
}

/*
 * Runs the filter with all data of the event, even those that light mode leaves
 * out of the record.
 */
static enum inv_wanted ask(const struct inv_event_filter *f, uint32_t thread,
			   const struct inv_tracer_event *event,
			   enum inv_tag tag)
{
	struct inv_event_words w = {
		.env = event->env,
		.v = { event->tracee, event->tag, event->content },
		.n = 3,
		.has_result = event->value != 0,
	};

	if (!inv_event_filter_tag(f, tag))
		return INV_WANTED_NO;
	if (event->extra)
		w.v[w.n++] = event->extra;
	if (event->value)
		w.v[w.n++] = event->value;
	return inv_event_filter_run(f, thread, &w);
}

static bool ask_filter(struct inv_tracer *t, struct inv_thread *thread,
		       const struct inv_tracer_event *event, enum inv_tag tag)
{
	struct inv_lane *lane = &t->lanes[thread->index];
	const struct inv_event_filter *f = hold(t, thread);
	enum inv_wanted wanted = f ? ask(f, thread->index, event, tag) :
				     INV_WANTED_YES;

	inv_thread_let_go(thread);
	if (wanted == INV_WANTED_NO)
		inv_producer_add(&lane->filtered);
	else if (wanted == INV_WANTED_UNDECIDED)
		inv_producer_add(&lane->undecided);
	return wanted != INV_WANTED_NO;
}

bool inv_filter_selects(struct inv_tracer *t, struct inv_thread *thread,
			const struct inv_tracer_event *event, enum inv_tag tag,
			enum inv_bound bound, bool was_wanted)
{
	bool wanted;

	if (bound == INV_BOUND_ENDS && was_wanted)
		return true;
	wanted = ask_filter(t, thread, event, tag);
	if (bound == INV_BOUND_BEGINS || bound == INV_BOUND_HOLDS)
		inv_bound_want(t, event->tracee, wanted);
	return wanted;
}
