/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_TRACEE_H
#define INV_ENGINE_TRACEE_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/frames.h"
#include "engine/profile.h"

/*
 * What the engine knows of each traced process and port.
 *
 * The low bits of a pid are the process' place in the VM's own table, so two
 * that live never share them: a table as wide as the VM's has a place for each,
 * found without a search, and taken over from the dead without a clean-up.
 * Ports have a table of their own.
 *
 * New ones that the VM does not tell of, since no session needs a flag that it
 * has set for them, have no place until somebody asks for them.  Those that had
 * none before were given one then (inviso_engine_flags.erl), so what has no
 * place is new.
 */
struct inv_tracee {
	_Atomic uint64_t id; /* whose this is; another: not traced */
	_Atomic uint32_t profile;
	/*
	 * Sessions that may get interested: its parent has set_on_link, and what
	 * a child is told of before the server has heard of a link would be
	 * lost.  The VM's flags are left to it.
	 */
	_Atomic uint32_t expected;
	/* Sessions whose flag `call' it has had. */
	_Atomic uint32_t called;
	/* The calls whose ends it will report; for its own thread alone. */
	struct inv_frames frames;
	struct inv_frames meta;	 /* those of functions that are meta traced */
	struct inv_frames chain; /* those that are told by return_to */
	/* There were ends, returns, that it did not report. */
	_Atomic bool cut;
	_Atomic bool chain_cut;
	/* Spawned last, by an event of its own; for its own thread alone. */
	uint64_t child;
	/* Of which link it has been told without the VM. */
	_Atomic uint64_t linked_by;
};

/* For that many.  0, or -1: no memory. */
int inv_tracees_init(uint64_t processes, uint64_t ports);
void inv_tracees_end(void);
void inv_tracees_clear(void);

/* What those have that have no place; at first 0. */
uint32_t inv_tracees_unknown(enum inv_new what);
void inv_tracees_set_unknown(enum inv_new what, uint32_t profile);

/* Of a pid or port of this node; both are words. */
bool inv_tracee_is_port(ERL_NIF_TERM id);

/* NULL: it is none of ours. */
struct inv_tracee *inv_tracee_find(ERL_NIF_TERM id);

/*
 * The same, and it has a place from now on: it must be alive, for who has the
 * place is taken for dead.  From any thread.  NULL: another thread has just
 * begun to do the same, and does not get on.
 */
struct inv_tracee *inv_tracee_get(ERL_NIF_TERM id);

/* It is new and has that profile, whatever is known of its id. */
void inv_tracee_born(ERL_NIF_TERM id, uint32_t profile, uint32_t expected);

/* The sessions that may get interested. */
uint32_t inv_tracee_expected(ERL_NIF_TERM id);

/* Its number, 0 if it has none. */
uint32_t inv_tracee_profile(const struct inv_tracee *t);
/* The same of one that may be none of ours. */
uint32_t inv_tracee_profile_of(ERL_NIF_TERM id);

/* The sessions whose flag `call' it has or had.  False: it is none of ours. */
bool inv_tracee_called(ERL_NIF_TERM id, uint32_t *sessions);

/*
 * Gives it the profile `to` if it still has `from`.  If no session wants its
 * calls any more, the ends of those that it is in are for nobody, even if they
 * will be wanted again: who can say which they are?  So it is with return_to.
 */
bool inv_tracee_change(struct inv_tracee *t, uint32_t from, uint32_t to);

/*
 * Changes the flags of a session for it, whatever others change meanwhile.
 * From any thread.  The profile that it has now, or INV_PROFILE_NONE: there was
 * no room, and it has what it had.
 */
uint32_t inv_tracee_edit(ERL_NIF_TERM id, const struct inv_edit *edit);

/*
 * A slot is to be another session's: nobody has had flags of that one.  That
 * many places at most, from the one with that number on, of which 0 is the
 * first.  The number of the next, or 0.
 */
uint64_t inv_tracees_vacate(uint32_t slot, uint64_t from, uint64_t max);

/*
 * Marks a process whose flags in the VM are not what is needed any more.  True: the
 * server is to be told, for it has not been since it took the last one.  From
 * any thread; what has been marked once or a thousand times is taken once.
 */
bool inv_tracee_mark(const struct inv_tracee *t);
/* That many at most, which are marked no more; less: there are no others. */
unsigned inv_tracees_take_marked(ERL_NIF_TERM *ids, unsigned max);

/* The calls that the process is in; for its own thread. */
struct inv_frames *inv_tracee_frames(struct inv_tracee *t);
struct inv_frames *inv_tracee_chain(struct inv_tracee *t);

#endif
