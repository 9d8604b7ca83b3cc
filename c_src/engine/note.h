/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_NOTE_H
#define INV_ENGINE_NOTE_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What the VM has on functions for sessions and does not tell whose it is, as
 * match specs of ours do: so that it is known here when a server was killed
 * that had set it.
 *
 * Plain are those with a pattern without a match spec, which would cost a call
 * more than all else: each of the sessions that trace them wants all calls.
 * The event has no verdict then; whose it is, is written here.
 *
 * The server alone writes.
 */
struct inv_note {
	_Atomic ERL_NIF_TERM module; /* 0: free; the last that is written */
	ERL_NIF_TERM name;
	unsigned arity;
	_Atomic bool plain;
	_Atomic uint32_t sessions; /* that want a plain one's calls */
	/* Of the server's choosing (inviso_engine_counted.erl); 0: none. */
	_Atomic uint32_t counters;
};

/* NULL: nothing was ever noted of it. */
struct inv_note *inv_note_find(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity);

/* Gives it a place for good, if it has none.  NULL: there is no room. */
struct inv_note *inv_note_make(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity);

/* There are no sessions any more; what they had may still be there. */
void inv_notes_clear(void);

/* Nor that any more. */
void inv_notes_forget(void);

#endif
