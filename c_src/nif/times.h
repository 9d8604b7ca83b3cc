/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_TIMES_H
#define INV_NIF_TIMES_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/tracer_call.h"

/*
 * Timing calls instead of recording them: a tracer that counts (nif/tally.h)
 * with a histogram for each key (vm/times.h).
 *
 * 	event            what the tracer does
 * 	call             pushes the time onto the process's stack (vm/spans.h)
 * 	return_from,     adds the duration to the histogram of the key; each
 * 	exception_from   thread has its own part of the histogram
 *
 * The tracer times garbage collections in the same way, from gc_minor_start to
 * gc_minor_end, and from gc_major_start to gc_major_end. It also times how long
 * a process runs, from `in' to `out', and how long it waits, from `out' to
 * `in'. If the key is the process, it times only the waiting. One tracer must
 * not time calls and scheduling events together, because they are not nested in
 * each other.
 *
 * A call is counted when it ends. It is counted as unpaired if the VM reported
 * the call but not its end. There are three causes: the process died; the
 * process or function has reached the bound on open calls (nif/bound.h); or the
 * call was still open when tracing ended.
 *
 * Instead of times, the histograms can be of numbers, if the match spec of an
 * event has {message, {{Number}}}. An event is counted as unpaired if Number is
 * not an integer from 0 to INT64_MAX.
 *
 * The keys of times and of numbers can be the values of an expression
 * (nif/value_key.h). For a timed call, the value is computed when the call
 * begins (nif/open_keys.h).
 */
struct inv_arrival;
struct inv_tally;
struct inv_tally_row;
struct inv_timing;
struct inv_tracer;

void inv_timing_free(struct inv_timing *timing);

enum inv_timed {
	INV_TIMED,	/* the event was handled */
	INV_TIMED_HELD, /* the event was handled, and the process is held
			   from now on (nif/bound.h) */
	INV_TIMED_OVER, /* the event was not handled, because inv_times_end
			   was called */
	INV_TIMED_BAD	/* the arguments are not an event */
};

/* Handles an event that happened at the time `now'. `thread' is the index of
 * the calling thread. */
enum inv_timed inv_times_event(struct inv_tracer *t, uint32_t thread,
			       struct inv_arrival *a, uint64_t now);

/* Handles an event of a tracer whose histograms are of numbers. Returns false
 * if the arguments of the callback are not an event. */
bool inv_times_number(struct inv_tracer *t, uint32_t thread,
		      struct inv_arrival *a);

/* If keys are values, their bytes are in the cells of a tally. For timed calls,
 * returns the tally of open calls (nif/open_keys.h); otherwise returns the
 * tracer's tally. */
const struct inv_tally *inv_times_keys(const struct inv_tracer *t);

/*
 * Makes the notes that contain the histogram of the row's key, and puts them in
 * front of `list'. Adds their number, which is at most INV_TIMES_NOTES, to *n.
 * Call it only for a tracer with histograms.
 */
#define INV_TIMES_NOTES 61u
ERL_NIF_TERM inv_times_notes(ErlNifEnv *env, const struct inv_tracer *t,
			     const struct inv_tally_row *row, ERL_NIF_TERM list,
			     uint32_t *n);

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_times_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_times_end(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
