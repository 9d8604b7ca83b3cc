/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_NOTE_H
#define INV_NIF_NOTE_H

#include <erl_nif.h>
#include <stdint.h>

/*
 * nif_note(Handle, [{Kind, [Term]}]): writes notes (abi/event.h) into the ring
 * of the calling thread, in packets of their own. Kind is a number of enum
 * inv_note. Takes the notes of the list's first INV_NOTES cells. Returns the
 * number of notes written, which is less if the ring is full, or `closed'.
 */
ERL_NIF_TERM inv_note_write(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/*
 * nif_fresh(Handle): returns processes of this node that were recorded for the
 * first time since the last call, at most INV_NOTES, or `closed'. A process can
 * be returned more than once.
 */
ERL_NIF_TERM inv_note_fresh(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/* How many notes a call may write: a NIF may run for about a millisecond. */
#define INV_NOTES 256u

#endif
