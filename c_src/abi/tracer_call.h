/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_TRACER_CALL_H
#define INV_ABI_TRACER_CALL_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The tracer for those that are not the VM: one function that the library of
 * the module inviso_tracer shows, to be found with dlsym() in the very mapping
 * that the VM has loaded.  It does what the callback trace/5 does with the same
 * event, in the calling thread, which must be inside a callback of the VM;
 * without a term built for it.
 *
 * It may be called for as long as the caller keeps the library mapped, whatever
 * has become of the module or of the tracer: handles are never given out twice,
 * and that of a tracer that is closed is in no table any more.
 */

/* Changes with the contract: a library of another version has another name. */
#define INV_TRACER_CALL inviso_tracer_call_1
#define INV_TRACER_CALL_NAME "inviso_tracer_call_1"

/* The arguments of trace/5, with the keys of its last one; 0: not there. */
struct inv_tracer_event {
	ErlNifEnv *env;
	ERL_NIF_TERM tag;
	ERL_NIF_TERM tracee; /* seq_trace: the label */
	ERL_NIF_TERM content;
	ERL_NIF_TERM extra;
	ERL_NIF_TERM value;	/* match_spec_result */
	ERL_NIF_TERM timestamp; /* which kind, an atom */
	ERL_NIF_TERM scheduler; /* scheduler_id */
};

/*
 * False: this tracer takes no more events, this one neither; enabled/3 would
 * have said remove.
 */
typedef bool inv_tracer_call(uint64_t handle,
			     const struct inv_tracer_event *event);

#endif
