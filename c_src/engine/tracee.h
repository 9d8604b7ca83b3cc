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
 * The table has an entry for each index of the VM's process table (vm/place.h);
 * ports have a table of their own.
 *
 * While no session has flags on future processes, the VM makes no events for
 * new processes, and a process gets an entry when the engine needs one. When a
 * session sets flags on future processes, the server first gives all existing
 * processes an entry (inviso_engine_flags.erl). From then on, a process without
 * an entry is a new process.
 */
struct inv_tracee {
	_Atomic uint64_t id; /* the tracee that has this entry */
	_Atomic uint32_t profile;
	/*
	 * The sessions whose flags the process may get by a link, because its
	 * parent has set_on_link. The process has these flags in the VM from
	 * its start: if the server set them only after the link, the VM would
	 * make no events until then.
	 */
	_Atomic uint32_t expected;
	/* True if a session has the flag `call' on the process, or once had
	 * it. */
	_Atomic bool called;
	/*
	 * The sessions to which the process's counters call_time and
	 * call_memory in the VM are attributed: if such a counter grows, it has
	 * grown for each of these sessions. The server changes this mask after
	 * it has read the counters; callbacks only add sessions.
	 */
	_Atomic uint32_t timed;
	/* The sessions whose tracers leave out the process's calls, or did so
	 * when they were last asked (held.h). */
	_Atomic uint32_t held;
	/*
	 * The shadow stack of calls whose ends the VM will report. Only the
	 * thread that runs the process uses it.
	 */
	struct inv_frames frames;
	struct inv_frames meta;	 /* the shadow stack of calls of meta traced
				  * functions */
	struct inv_frames chain; /* the shadow stack of calls whose returns
				    are reported as return_to */
	/*
	 * If `cut' is true, the process's thread empties `frames' at its next
	 * use, so that the ends of calls that are now open are not reported.
	 * `chain_cut' does this for `chain'.
	 */
	_Atomic bool cut;
	_Atomic bool chain_cut;
	/*
	 * The child that the process spawned last; 0 after the child's event
	 * `spawned'. Only the thread that runs the process uses it.
	 */
	uint64_t child;
	/*
	 * A process that has linked to this process. The engine has sent the
	 * event of this link, and the VM has not reported it yet. 0: none.
	 */
	_Atomic uint64_t linked_by;
};

/* Makes tables for this many processes and ports. Returns 0, or -1 if memory is
 * exhausted. */
int inv_tracees_init(uint64_t processes, uint64_t ports);
void inv_tracees_end(void);
void inv_tracees_clear(void);

/* Returns the profile of tracees without an entry; at first it is 0. */
uint32_t inv_tracees_unknown(enum inv_new what);
void inv_tracees_set_unknown(enum inv_new what, uint32_t profile);

/* `id' is a pid or port of this node. Returns true if it is a port. */
bool inv_tracee_is_port(ERL_NIF_TERM id);

/* Returns NULL if the tracee has no entry. */
struct inv_tracee *inv_tracee_find(ERL_NIF_TERM id);

/*
 * Returns the entry of a living tracee. If the entry is free or belongs to a
 * dead tracee, the living tracee takes it over. Each thread may call this.
 * Returns NULL if another thread is taking the entry over, and does not finish
 * soon.
 */
struct inv_tracee *inv_tracee_get(ERL_NIF_TERM id);

/*
 * Gives a new tracee its entry, with this profile and the sessions `expected'.
 * Discards the data of the dead tracee to which the entry belonged.
 */
void inv_tracee_born(ERL_NIF_TERM id, uint32_t profile, uint32_t expected);

/* Returns the sessions whose flags the process may get by a link. */
uint32_t inv_tracee_expected(ERL_NIF_TERM id);

/* Returns the number of the tracee's profile, which is 0 at first. */
uint32_t inv_tracee_profile(const struct inv_tracee *t);
/* Like inv_tracee_profile, for a tracee that may have no entry in the table. */
uint32_t inv_tracee_profile_of(ERL_NIF_TERM id);

/*
 * inv_tracee_timed stores in *timed the sessions to which the process's times
 * of calls are attributed, and in *calls the sessions that have the flag `call'
 * on the process. The two masks differ until the server has read the VM's
 * counters, and then calls inv_tracee_set_timed, which keeps all sessions that
 * have the flag at that time. Both functions return false if the process has no
 * entry.
 */
bool inv_tracee_timed(ERL_NIF_TERM id, uint32_t *timed, uint32_t *calls);
bool inv_tracee_set_timed(ERL_NIF_TERM id, uint32_t timed);

/*
 * Attributes the process's times of calls also to the sessions that now have
 * the flag `call' on the process. A callback that has changed the process's
 * profile calls this: the process may make its next call before the server
 * learns of the change.
 */
void inv_tracee_time(struct inv_tracee *t);

/*
 * Changes the profile of a tracee to `to', if it is still `from'; otherwise
 * returns false. If no session traces the tracee's calls after the change, the
 * engine does not report the ends of the calls that are now open. It does not
 * report them even if a session traces the calls again before they end, because
 * it then cannot know to which session such an end belongs. Likewise, if no
 * session has the flag return_to after the change, the engine sends no
 * return_to event for the calls that are now open.
 */
bool inv_tracee_change(struct inv_tracee *t, uint32_t from, uint32_t to);

/*
 * Changes the flags of one session on a tracee. Each thread may call this,
 * while other threads change other flags.  Returns the new profile. Returns
 * INV_PROFILE_NONE if the table of profiles is full, or if inv_tracee_get
 * returns NULL; then nothing has changed.
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
 * needs. Returns true for the first mark after the server has taken all marks:
 * the caller must then send the server a message. Each thread may call this.
 */
bool inv_tracee_mark(const struct inv_tracee *t);
/*
 * Stores the pids of at most `max' marked processes in `ids', removes their
 * marks, and returns their number.  If the number is less than `max', no other
 * processes are marked.
 */
unsigned inv_tracees_take_marked(ERL_NIF_TERM *ids, unsigned max);

/*
 * These functions return the process's shadow stacks t->frames and t->chain. If
 * t->cut (or t->chain_cut) is set, the function empties the stack first. Call
 * them only in a trace callback for the process.
 */
struct inv_frames *inv_tracee_frames(struct inv_tracee *t);
struct inv_frames *inv_tracee_chain(struct inv_tracee *t);

#endif
