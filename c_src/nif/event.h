/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_EVENT_H
#define INV_NIF_EVENT_H

#include <erl_nif.h>

#include "abi/tracer_call.h"

/*
 * The callbacks of OTP's behaviour erl_tracer. They run in the thread of the
 * traced process or port, while this thread holds locks of the VM. So the
 * callbacks take no lock, allocate nothing, make no system call and build no
 * term. There are two exceptions: a cpu_timestamp needs a system call, and a
 * strict_monotonic timestamp needs a term.
 *
 * The library must not export the behaviour's optional callbacks, because the
 * VM has a bug: if they exist, it calls trace_call/5 or trace_send/5 with three
 * arguments in some places where it should call enabled/3.
 */

/* enabled(Tag, State, Tracee) -> trace | discard | remove */
ERL_NIF_TERM inv_event_enabled(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);

/* trace(Tag, State, Tracee | Label, Term, Opts) -> ok */
ERL_NIF_TERM inv_event_trace(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

/*
 * Records an event for inviso's engine (c_src/engine), as inv_event_trace does
 * for the VM. The engine finds this function and INV_TRACER_HOLDS (nif/bound.h)
 * by their names, so the library exports them.
 */
__attribute__((visibility("default"))) inv_tracer_call INV_TRACER_CALL;

#endif
