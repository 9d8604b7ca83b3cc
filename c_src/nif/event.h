/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_EVENT_H
#define INV_NIF_EVENT_H

#include <erl_nif.h>

#include "abi/tracer_call.h"

/*
 * The callbacks of the erl_tracer behaviour (seed 001, "Callbacks").  They run
 * in the thread, and with the locks, of whatever the VM traces: no lock, no
 * allocation of ours, no system call, no term built (a cpu_timestamp alone
 * takes a system call, a strict_monotonic one builds a term).
 *
 * The optional callbacks are not there, and must not be: in some places the
 * VM asks "enabled?" by calling trace_call/5 or trace_send/5 with three
 * arguments.
 */

/* enabled(Tag, State, Tracee) -> trace | discard | remove */
ERL_NIF_TERM inv_event_enabled(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);

/* trace(Tag, State, Tracee | Label, Term, Opts) -> ok */
ERL_NIF_TERM inv_event_trace(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

/* The same for the engine; the one function that the library shows. */
__attribute__((visibility("default"))) inv_tracer_call INV_TRACER_CALL;

#endif
