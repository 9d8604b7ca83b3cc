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
 * The engine's data on each traced process and port.
 *
 * The table has an entry for each place in the VM's process table
 * (vm/place.h); ports have a table of their own.
 *
 * If no session sets flags of future processes, the VM makes no events for new
 * processes, and a process has no entry until the engine needs it. When a
 * session sets such flags, the server first gives all existing processes an
 * entry (inviso_engine_flags.erl). So a process without an entry is new.
 */
struct inv_tracee {
	_Atomic uint64_t id; /* the tracee that has this entry */
	_Atomic uint32_t profile;
	/*
	 * The sessions whose flags the process may get by a link, because its
	 * parent has set_on_link. If the server set these flags in the VM only
	 * after the link, events would be lost. So the process has them in the
	 * VM from its start.
	 */
	_Atomic uint32_t expected;
	/* The sessions whose flag `call' the process has, or had. */
	_Atomic uint32_t called;
	/* The sessions whose tracers hold the process, or held it (held.h). */
	_Atomic uint32_t held;
	/*
	 * The shadow stack of calls whose ends the VM will report; used only by
	 * the process's own thread.
	 */
	struct inv_frames frames;
	struct inv_frames meta;	 /* the shadow stack of calls of meta traced
				  * functions */
	struct inv_frames chain; /* the shadow stack of calls whose returns
				    are reported as return_to */
	/*
	 * `cut': `frames' is to be emptied, so that ends of open calls are not
	 * reported. `chain_cut': the same for `chain'.
	 */
	_Atomic bool cut;
	_Atomic bool chain_cut;
	/*
	 * The child that the process spawned last; 0 after the child's event
	 * `spawned'. Used only by the process's own thread.
	 */
	uint64_t child;
	/*
	 * The process whose link to this process the engine has reported, until
	 * the VM reports it, too.
	 */
	_Atomic uint64_t linked_by;
};

/* Makes tables of these sizes.  Returns 0, or -1 if memory is exhausted. */
int inv_tracees_init(uint64_t processes, uint64_t ports);
void inv_tracees_end(void);
void inv_tracees_clear(void);

/* Returns the profile of tracees without an entry; at first it is 0. */
uint32_t inv_tracees_unknown(enum inv_new what);
void inv_tracees_set_unknown(enum inv_new what, uint32_t profile);

/* Returns true if id is a port, false if it is a pid; both of this node. */
bool inv_tracee_is_port(ERL_NIF_TERM id);

/* Returns NULL if the tracee has no entry. */
struct inv_tracee *inv_tracee_find(ERL_NIF_TERM id);

/*
 * Finds or claims the entry of a living tracee, and evicts a dead owner.  Any
 * thread may call this.  Returns NULL if another thread's claim is stuck.
 */
struct inv_tracee *inv_tracee_get(ERL_NIF_TERM id);

/*
 * Gives a new tracee its entry, with this profile; discards the data of the
 * entry's previous owner.
 */
void inv_tracee_born(ERL_NIF_TERM id, uint32_t profile, uint32_t expected);

/* Returns the sessions whose flags the process may get by a link. */
uint32_t inv_tracee_expected(ERL_NIF_TERM id);

/* Returns the number of the tracee's profile, at first 0. */
uint32_t inv_tracee_profile(const struct inv_tracee *t);
/* Like inv_tracee_profile, for a tracee that may have no entry in the table. */
uint32_t inv_tracee_profile_of(ERL_NIF_TERM id);

/*
 * Stores the sessions whose flag `call' a process has, or had, in `sessions'.
 * Returns false if the process has no entry.
 */
bool inv_tracee_called(ERL_NIF_TERM id, uint32_t *sessions);

/*
 * Changes the profile of a tracee to `to' if it is still `from'. If then no
 * session traces the tracee's calls, the ends of its open calls are never
 * reported, even if a session traces its calls again before they end, because
 * the engine cannot know to which session such an end belongs. The same applies
 * to return_to.
 */
bool inv_tracee_change(struct inv_tracee *t, uint32_t from, uint32_t to);

/*
 * Changes the flags of one session on a tracee, while other threads may change
 * other flags.  Any thread may call this.  Returns the new profile, or
 * INV_PROFILE_NONE if there is no room; then nothing has changed.
 */
uint32_t inv_tracee_edit(ERL_NIF_TERM id, const struct inv_edit *edit);

/*
 * Removes the session in `slot' from at most `max' entries, from index `from'
 * on, so that the slot can be reused. Returns the next index, or 0 at the end
 * of the table.
 */
uint64_t inv_tracees_vacate(uint32_t slot, uint64_t from, uint64_t max);

/*
 * Marks a process whose flags in the VM may differ from those that its profile
 * needs. Returns true if the caller must send the server a message, because
 * none was sent since the server last took the marks. Any thread may call this.
 */
bool inv_tracee_mark(const struct inv_tracee *t);
/*
 * Stores the ids of at most `max' marked processes, removes their marks, and
 * returns their number.  If the number is less than `max', no other processes
 * are marked.
 */
unsigned inv_tracees_take_marked(ERL_NIF_TERM *ids, unsigned max);

/*
 * Return the process's shadow stack of calls, and its shadow stack for
 * return_to. Call these functions only in a trace callback of the process.
 */
struct inv_frames *inv_tracee_frames(struct inv_tracee *t);
struct inv_frames *inv_tracee_chain(struct inv_tracee *t);

#endif
