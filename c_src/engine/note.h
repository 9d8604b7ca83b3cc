/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_NOTE_H
#define INV_ENGINE_NOTE_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Notes on functions: they record the counters, and the patterns without a
 * match spec, that the server has set in the VM for sessions. The VM does not
 * show that these belong to sessions. (A pattern with a match spec needs no
 * note, because its match spec shows this.) The notes remain if the server is
 * killed.
 *
 * A function is plain if each session that traces it wants all its calls. Its
 * pattern has no match spec, because running a match spec takes longer than all
 * other work for the event. So the event has no verdict (verdict.h), and the
 * note has the sessions.
 *
 * Only the server writes notes.
 */
struct inv_note {
	_Atomic ERL_NIF_TERM module; /* 0: free; written last */
	ERL_NIF_TERM name;
	unsigned arity;
	_Atomic bool plain;
	_Atomic uint32_t sessions; /* the sessions that want a plain function's
				      calls */
	/*
	 * A set of call counters, as inviso_engine_counted.erl encodes it; 0:
	 * none.
	 */
	_Atomic uint32_t counters;
};

/* Returns NULL if there is no note of the function. */
struct inv_note *inv_note_find(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity);

/*
 * Returns the function's note, or a new one that stays until
 * inv_notes_forget(); NULL if no entry is free.
 */
struct inv_note *inv_note_make(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity);

/*
 * Removes all sessions from the notes, and keeps the notes, because the
 * patterns and counters may still be in the VM.
 */
void inv_notes_clear(void);

/*
 * Removes all notes. Before this call, the server must clear, in the VM, all
 * patterns and counters that belong to sessions.
 */
void inv_notes_forget(void);

#endif
