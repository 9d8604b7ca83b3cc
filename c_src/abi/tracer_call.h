/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_TRACER_CALL_H
#define INV_ABI_TRACER_CALL_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The function with which callers other than the VM record an event. The
 * library of the module inviso_tracer exports it. The caller finds it with
 * dlsym() in the mapping that the VM has loaded. The function does the same as
 * the callback trace/5, but the caller passes a struct instead of an Erlang map
 * of options. The calling thread must be inside a callback of the VM.
 *
 * The function can be called as long as the caller keeps the library mapped,
 * even if the module was unloaded or the tracer closed. Handles are never
 * reused: with the handle of a closed tracer, the function does nothing.
 */

/* The name has a version: it changes when the contract of the function
 * changes. */
#define INV_TRACER_CALL inviso_tracer_call_1
#define INV_TRACER_CALL_NAME "inviso_tracer_call_1"

/* The arguments of trace/5; the last three are keys of its options. A field
 * that is 0 is absent. */
struct inv_tracer_event {
	ErlNifEnv *env;
	ERL_NIF_TERM tag;
	ERL_NIF_TERM tracee; /* for seq_trace the label */
	ERL_NIF_TERM content;
	ERL_NIF_TERM extra;
	ERL_NIF_TERM value;	/* match_spec_result */
	ERL_NIF_TERM timestamp; /* an atom: the kind of timestamp */
	ERL_NIF_TERM scheduler; /* scheduler_id */
};

/*
 * Returns false if the tracer accepts no more events and this event was not
 * recorded. In that case the callback enabled/3 returns remove.
 */
typedef bool inv_tracer_call(uint64_t handle,
			     const struct inv_tracer_event *event);

#endif
