/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_NOTE_H
#define INV_NIF_NOTE_H

#include <erl_nif.h>
#include <stdint.h>

/*
 * nif_note(Handle, [{Kind, [Term]}]): writes notes (abi/event.h) into the ring
 * of the calling thread, in packets of their own. Kind is a number of enum
 * inv_note. Writes at most the first INV_NOTES notes of the list, and fewer if
 * the ring is full. Returns the number of notes written, or `closed' if the
 * tracer is closed.
 */
ERL_NIF_TERM inv_note_write(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/*
 * nif_fresh(Handle): returns at most INV_NOTES processes of this node that were
 * recorded and not returned yet. A process can be returned more than once: each
 * thread that records the process adds it (nif/fresh.h). Returns `closed' if
 * the tracer is closed.
 */
ERL_NIF_TERM inv_note_fresh(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/* How many notes a call may write, so that it takes about a millisecond at
 * most. */
#define INV_NOTES 256u

#endif
