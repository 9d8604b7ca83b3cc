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
 * calls. A process that reaches the bound is `held': its calls are left out
 * until the session has changed the pattern of a function. After this change,
 * the VM does not report the ends of the function's calls any more.
 *
 * A match spec can ask for the ends of some calls only. Then the message of
 * these calls has a mark, which the tracer removes: the value of {message, V}
 * is {'$inviso_ends', V} (inviso_ends.erl).
 */
struct inv_tracer;
struct inv_slot;

enum inv_bound {
	INV_BOUND_RECORD,   /* record the event */
	INV_BOUND_BEGINS,   /* record it; the VM will report the end of this
			   * call */
	INV_BOUND_HOLDS,    /* like INV_BOUND_BEGINS, and the process is held
			     * from now on */
	INV_BOUND_ENDS,	    /* record it; it is the end of a call */
	INV_BOUND_LEAVE_OUT /* do not record the event */
};

#define INV_BOUND_UNKNOWN UINT32_MAX /* no function has this number */

/* The function of an event, and the arguments if they are known. */
struct inv_bound_call {
	uint32_t function; /* the function's number in the table of open
			      calls */
	uint32_t arity;
	ERL_NIF_TERM args; /* a list, or the arity */
};

/*
 * If a filter accepts a call of a tracee, the end of the call is recorded, too.
 * So the filter's result is stored with each open call: use inv_bound_want after
 * each INV_BOUND_BEGINS or INV_BOUND_HOLDS. inv_bound_wanted returns the result
 * that is stored with the process's innermost open call, or false if no call is
 * open. For an event that may be the end of a call, use inv_bound_wanted before
 * inv_bound_count, because inv_bound_count removes the open call.
 */
void inv_bound_want(struct inv_tracer *t, ERL_NIF_TERM pid, bool wanted);
bool inv_bound_wanted(struct inv_tracer *t, ERL_NIF_TERM pid);

/* Returns true if the process is held, and then counts a call as left out. This
 * is safe even if the tracer with this handle is closed. */
bool inv_bound_holds(struct inv_slot *slot, uint64_t handle, ERL_NIF_TERM pid);

/* For inviso's engine (c_src/engine); the library exports it by name. */
__attribute__((visibility("default"))) inv_tracer_holds INV_TRACER_HOLDS;

/* NIFs for the session; inviso_tracer.erl documents them. */
ERL_NIF_TERM inv_bound_set(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_bound_ends(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_bound_stopped(ErlNifEnv *, int, const ERL_NIF_TERM[]);
ERL_NIF_TERM inv_bound_release(ErlNifEnv *, int, const ERL_NIF_TERM[]);

#endif
