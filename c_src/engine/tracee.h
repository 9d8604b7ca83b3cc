/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_TRACEE_H
#define INV_ENGINE_TRACEE_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/frames.h"

/*
 * What the engine knows of each traced process.
 *
 * The low bits of a pid are the process' place in the VM's own table, so two
 * that live never share them: a table as wide as the VM's has a place for each,
 * found without a search, and taken over from the dead without a clean-up.
 */
struct inv_tracee {
	_Atomic uint64_t pid; /* whose this is; another: not traced */
	_Atomic uint32_t profile;
	/* The calls whose ends it will report; for its own thread alone. */
	struct inv_frames frames;
	_Atomic bool cut; /* calls have ended that it did not report */
};

/* For that many processes.  0, or -1: no memory. */
int inv_tracees_init(uint64_t processes);
void inv_tracees_end(void);
void inv_tracees_clear(void);

/* NULL: the process is none of ours. */
struct inv_tracee *inv_tracee_find(ERL_NIF_TERM pid);

/* Its number, 0 if it has none. */
uint32_t inv_tracee_profile(const struct inv_tracee *t);

/*
 * Gives a process the profile `to` if it has `from`; 0 is what one has that is
 * none of ours.  False: it has another.  From any thread.
 */
bool inv_tracee_change(ERL_NIF_TERM pid, uint32_t from, uint32_t to);

/*
 * Ends of calls are not reported any more.  When they will be again, those of
 * calls from before are for nobody: who can say which they are?
 */
void inv_tracee_cut(ERL_NIF_TERM pid);

/* The calls that the process is in; for its own thread. */
struct inv_frames *inv_tracee_frames(struct inv_tracee *t);

#endif
