/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_BOUND_H
#define INV_NIF_BOUND_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/event.h"
#include "abi/tracer_call.h"

/*
 * The bound on open calls (vm/open_calls.h) of a tracer that records. The
 * session tells the tracer for which functions the VM reports the ends of
 * calls. If a process reaches the bound, the session changes the pattern of a
 * function and tells the tracer.
 *
 * A match spec can ask for the ends of some calls only. Then the message of
 * these calls has a mark, which the tracer removes: the value of {message, V}
 * is {'$inviso_ends', V} (inviso_ends.erl).
 */
struct inv_tracer;
struct inv_slot;

enum inv_bound {
	INV_BOUND_RECORD,   /* the event is to be recorded */
	INV_BOUND_BEGINS,   /* record it; the VM will report the end of this
			   * call */
	INV_BOUND_HOLDS,    /* like INV_BOUND_BEGINS, and the process is held
			     * from now on */
	INV_BOUND_ENDS,	    /* the end of a call that began with this tracer */
	INV_BOUND_LEAVE_OUT /* the event is not to be recorded */
};

#define INV_BOUND_UNKNOWN UINT32_MAX /* no function has this number */

/* The function of an event, and the arguments if they are known. */
struct inv_bound_call {
	uint32_t function; /* its number in the table of open calls */
	uint32_t arity;
	ERL_NIF_TERM args; /* a list, or the arity */
};

/*
 * Counts an event that the VM has reported; call it in the thread of the
 * traced process. If the event has a mark, it is copied to *plain without the
 * mark, and *event then points to the copy. If the event's function is in the
 * table of open calls, sets *call; otherwise the result is INV_BOUND_RECORD, and
 * *call does not change. Only of a call, the fields are read that the VM passes in
 * a map (nif/arrival.h).
 */
enum inv_bound inv_bound_count(struct inv_tracer *t, enum inv_tag tag,
			       const struct inv_tracer_event **event,
			       struct inv_tracer_event *plain,
			       struct inv_bound_call *call);

/*
 * If a filter wants a call, the end of the call is recorded, too. The caller says
 * for each INV_BOUND_BEGINS and _HOLDS whether the filter wants the call, and
 * asks before inv_bound_count whether it wanted the process's innermost open
 * call. Without an open call the answer is false.
 */
void inv_bound_want(struct inv_tracer *t, ERL_NIF_TERM pid, bool wanted);
bool inv_bound_wanted(struct inv_tracer *t, ERL_NIF_TERM pid);

/* Returns true if the process is held, and counts a call that is left out.
 * `handle': of a tracer that may be closed. */
bool inv_bound_holds(struct inv_slot *slot, uint64_t handle, ERL_NIF_TERM pid);

/* For engines other than the VM; the library exports it by name. */
__attribute__((visibility("default"))) inv_tracer_holds INV_TRACER_HOLDS;

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_bound_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_bound_ends(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_bound_stopped(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_bound_release(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
