/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_TRACER_CALL_H
#define INV_ABI_TRACER_CALL_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The functions with which callers other than the VM record an event. The
 * library of the module inviso_tracer exports them. The caller finds them with
 * dlsym() in the mapping that the VM has loaded. INV_TRACER_CALL does the same
 * as the callback trace/5, but the caller passes a struct instead of an Erlang
 * map of options. The calling thread must be inside a callback of the VM.
 *
 * The functions can be called as long as the caller keeps the library mapped,
 * even if the module was unloaded or the tracer closed. Handles are never
 * reused: with the handle of a closed tracer, the functions do nothing.
 */

/* The names have a version: it changes when the contract of the functions
 * changes. */
#define INV_TRACER_CALL inviso_tracer_call_3
#define INV_TRACER_CALL_NAME "inviso_tracer_call_3"
#define INV_TRACER_HOLDS inviso_tracer_holds_2
#define INV_TRACER_HOLDS_NAME "inviso_tracer_holds_2"

/* In a handle: it is a start handle (nif/starts.h). INV_TRACER_HOLDS must then be
 * called before each call of a process, and returns true if the call must not begin
 * a request. */
#define INV_TRACER_STARTS (UINT64_C(1) << 55)

/* The arguments of trace/5; the last three are keys of its options. A field
 * that is 0 is absent. */
struct inv_tracer_event {
	ErlNifEnv *env;
	ERL_NIF_TERM tag;
	ERL_NIF_TERM tracee; /* for seq_trace: the label */
	ERL_NIF_TERM content;
	ERL_NIF_TERM extra;
	ERL_NIF_TERM value;	/* the extra value of the option
				   match_spec_result */
	ERL_NIF_TERM timestamp; /* an atom: the kind of timestamp */
	ERL_NIF_TERM scheduler; /* the extra value of the option scheduler_id */
	/* The time of the event, for all tracers that get the event. The first
	 * tracer that needs the time reads the clock and stores the time here.
	 * 0: the clock was not read yet. NULL: only this tracer gets the
	 * event. */
	uint64_t *time;
};

enum inv_tracer_took {
	/* The tracer accepts no more events, and this event was not recorded.
	 * The callback enabled/3 returns remove. */
	INV_TRACER_GONE,
	INV_TRACER_TOOK, /* recorded, delivered, unwanted, or dropped and
			    counted */
	/* As INV_TRACER_TOOK; and the process is held from now on: call
	 * INV_TRACER_HOLDS before each further call of the process, until it
	 * returns false. */
	INV_TRACER_HELD,
};

typedef enum inv_tracer_took inv_tracer_call(
	uint64_t handle, const struct inv_tracer_event *event);

/*
 * Returns true if the process is held, because it has reached the tracer's
 * limit of open calls (nif/bound.h). Then the caller must discard the process's
 * call before a match spec is run. The tracer counts the call as left out. If
 * `held_elsewhere' is true, the call is discarded because of another tracer,
 * and this tracer only counts it.
 */
typedef bool inv_tracer_holds(uint64_t handle, ERL_NIF_TERM process,
			      bool held_elsewhere);

#endif
