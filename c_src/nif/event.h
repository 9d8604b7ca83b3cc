/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_EVENT_H
#define INV_NIF_EVENT_H

#include <erl_nif.h>

#include "abi/tracer_call.h"

/*
 * The callbacks of OTP's behaviour erl_tracer. They run in the thread of the
 * traced process or port, and this thread holds locks. So they take no lock,
 * allocate nothing, make no system call and build no term. There are two
 * exceptions: a cpu_timestamp needs a system call, and a strict_monotonic
 * timestamp needs a term.
 *
 * The optional callbacks must not be exported: in some places where the VM
 * should call enabled/3, it calls trace_call/5 or trace_send/5 with three
 * arguments.
 */

/* enabled(Tag, State, Tracee) -> trace | discard | remove */
ERL_NIF_TERM inv_event_enabled(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);

/* trace(Tag, State, Tracee | Label, Term, Opts) -> ok */
ERL_NIF_TERM inv_event_trace(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

/*
 * Records an event for the engine, as inv_event_trace does for the VM. The
 * library exports this function and INV_TRACER_HOLDS (nif/bound.h) by name.
 */
__attribute__((visibility("default"))) inv_tracer_call INV_TRACER_CALL;

#endif
