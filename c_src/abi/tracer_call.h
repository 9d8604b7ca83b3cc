/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_TRACER_CALL_H
#define INV_ABI_TRACER_CALL_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Functions with which other libraries in the VM record an event. The NIF
 * library of the module inviso_tracer exports them. A caller finds them with
 * dlsym() in the library that the VM has loaded. INV_TRACER_CALL does the same
 * as the callback trace/5, but takes a struct instead of an Erlang map of
 * options. The calling thread must be inside a callback of the VM.
 *
 * The functions can be called as long as the caller keeps the library mapped,
 * even if the module was unloaded or the tracer closed. Handles are never
 * reused: with the handle of a closed tracer, the functions do nothing.
 */

/* The number at the end of a function's name is a version. It changes when the
 * contract of the function changes. */
#define INV_TRACER_CALL inviso_tracer_call_3
#define INV_TRACER_CALL_NAME "inviso_tracer_call_3"
#define INV_TRACER_HOLDS inviso_tracer_holds_2
#define INV_TRACER_HOLDS_NAME "inviso_tracer_holds_2"

/* This bit marks a start handle (nif/starts.h): traced calls that the tracer
 * gets with such a handle begin requests of a sequential trace. Before each
 * traced call, the user of a start handle must call INV_TRACER_HOLDS. If the
 * result is true, the traced call must not begin a request. */
#define INV_TRACER_STARTS (UINT64_C(1) << 55)

/* The arguments of trace/5. `extra', `value', `timestamp' and `scheduler' are
 * values of its map of options. A field that is 0 is absent. */
struct inv_tracer_event {
	ErlNifEnv *env;
	ERL_NIF_TERM tag;
	ERL_NIF_TERM tracee; /* for seq_trace: the label */
	ERL_NIF_TERM content;
	ERL_NIF_TERM extra;
	ERL_NIF_TERM value;	/* the value of the option match_spec_result */
	ERL_NIF_TERM timestamp; /* an atom: the kind of timestamp */
	ERL_NIF_TERM scheduler; /* the value of the option scheduler_id */
	/* Points to the time of the event, which all tracers that get the event
	 * share. The first tracer that needs the time reads the clock and
	 * stores the time here. If the time is 0, the clock was not read yet.
	 * If the pointer is NULL, only one tracer gets the event. */
	uint64_t *time;
};

enum inv_tracer_took {
	/* The tracer accepts no more events, and this event was not recorded.
	 * For such a tracer, the callback enabled/3 returns `remove'. */
	INV_TRACER_GONE,
	/* The tracer has recorded or delivered the event, or dropped and
	 * counted it, or its filter did not want the event. */
	INV_TRACER_TOOK,
	/* Like INV_TRACER_TOOK. In addition, the process is now held: before
	 * each further traced call of the process, the caller must ask
	 * INV_TRACER_HOLDS, until it returns false. */
	INV_TRACER_HELD,
};

typedef enum inv_tracer_took inv_tracer_call(
	uint64_t handle, const struct inv_tracer_event *event);

/*
 * Returns true if the process is held: it has reached the tracer's limit of
 * open calls (nif/bound.h). The caller must then discard the traced call before
 * a match spec runs, and the tracer counts the call as left out. The caller
 * passes `held_elsewhere' as true if it discards the call in any case, because
 * of another tracer. Then this tracer only counts the call as left out.
 */
typedef bool inv_tracer_holds(uint64_t handle, ERL_NIF_TERM process,
			      bool held_elsewhere);

#endif
