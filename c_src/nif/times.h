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
 * 	call             the time goes onto the stack of the process (vm/spans.h)
 * 	return_from,     the time between is added to the histogram of the key, in
 * 	exception_from   the part of the thread in which the call ends
 *
 * Garbage collections are timed in the same way, from gc_minor_start to
 * gc_minor_end, and those of the whole heap; and how long a process runs, from
 * `in' to `out', and waits, from `out' to `in'. By process only the waiting is
 * timed. Calls and schedulings must not be timed by the same tracer: they are not
 * nested in each other.
 *
 * A call is counted when it ends. If the VM reported a call but not its end,
 * the call is counted as unpaired: its process died, its function or process
 * has reached the bound on open calls (nif/bound.h), or the call was still open
 * at the end.
 *
 * Instead of times, the histograms can be of numbers: the match spec of an event
 * has {message, {{Number}}}. An event is counted as unpaired if the number is no
 * integer from 0 to INT64_MAX.
 *
 * The keys of both can be the values of an expression (nif/value_key.h). The
 * value of a timed call is that of its beginning (nif/open_keys.h).
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

/* Handles an event that happened at `now' in the thread with this index. */
enum inv_timed inv_times_event(struct inv_tracer *t, uint32_t thread,
			       struct inv_arrival *a, uint64_t now);

/* Handles an event of a tracer with numbers. Returns false if the arguments are not
 * an event. */
bool inv_times_number(struct inv_tracer *t, uint32_t thread,
		      struct inv_arrival *a);

/* Returns the tally whose cells have the values that are keys. */
const struct inv_tally *inv_times_keys(const struct inv_tracer *t);

/*
 * Puts the notes of a key's histogram in front of a list, and adds their number,
 * which is at most INV_TIMES_NOTES, to *n. Only for a tracer with histograms.
 */
#define INV_TIMES_NOTES 61u
ERL_NIF_TERM inv_times_notes(ErlNifEnv *env, const struct inv_tracer *t,
			     const struct inv_tally_row *row, ERL_NIF_TERM list,
			     uint32_t *n);

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_times_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_times_end(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
