/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_NOTE_H
#define INV_ENGINE_NOTE_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Notes on functions: they record which counters, and which patterns without a
 * match spec, the server has set in the VM for sessions. If the server is
 * killed, the notes remain, and the next server can clear these counters and
 * patterns: the VM does not show that they belong to sessions. A pattern with a
 * match spec needs no note, because the match spec shows it.
 *
 * A function is `plain' if each session that traces it wants all its calls. Its
 * pattern in the VM has no match spec, because running a match spec takes
 * longer than all other work for the event. So the event has no result of a
 * match spec (verdict.h), and the note says which sessions want it.
 *
 * Only the server writes notes.
 */
struct inv_note {
	_Atomic ERL_NIF_TERM module; /* 0: the entry is free; written after the
					other fields */
	ERL_NIF_TERM name;
	unsigned arity;
	_Atomic bool plain;
	_Atomic uint32_t sessions; /* the sessions that want a plain function's
				      calls */
	/*
	 * Which call counters the function has; inviso_engine_counted.erl
	 * defines the bits.
	 */
	_Atomic uint32_t counters;
};

/* Returns NULL if there is no note of the function. */
struct inv_note *inv_note_find(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity);

/*
 * Returns the function's note, and makes one if there is none. A note stays
 * until inv_notes_forget(). Returns NULL if no entry is free.
 */
struct inv_note *inv_note_make(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity);

/*
 * Removes all sessions from the notes, but does not remove the notes, because
 * the patterns and counters may still be in the VM.
 */
void inv_notes_clear(void);

/*
 * Removes all notes. Before this call, the server must clear, in the VM, all
 * patterns and counters that belong to sessions.
 */
void inv_notes_forget(void);

#endif
