/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_OPEN_CALLS_H
#define INV_VM_OPEN_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vm/open_function.h"

/*
 * The open calls of processes: traced calls whose end the VM will report. For
 * each of them the VM has a frame on the process's stack. So the stack of a
 * process that loops by tail calls grows for as long as it runs.
 *
 *	      inv_open_calls_tell          the limit is reached
 *	unknown ───────────────► counted ──────────────────────► stopped
 *	                                                            │
 *	                        released ◄─── inv_open_calls_release┘
 *
 * counted   Its calls are counted, for each process.
 * stopped   A process has reached the limit, and this function has the most of
 *           the open calls. Ends of the function are not recorded any more, so
 *           that none of them is taken for the end of a later call. The process
 *           is held: its calls are left out, because the VM would add frames.
 * released  The session's pattern of the function asks for no ends any more.
 *           Its calls are recorded, and not counted.
 *
 * The table of functions is written by one process at a time: the functions
 * inv_open_calls_tell, _stopped and _release need the lock of the tracer. The
 * other functions are for callbacks of the tracer. They change the entry of the
 * calling process, so they must run in the thread that runs this process; the
 * VM lets one thread at a time run it. No function waits or allocates memory.
 *
 * Words are terms of the VM: atoms and pids.
 */
struct inv_open_calls;

/* Its functions are its first member. */
static inline const struct inv_open_functions *inv_open_calls_functions(
	const struct inv_open_calls *o)
{
	return (const struct inv_open_functions *)o;
}

/* A table with a place for each of `processes'. Returns NULL if there is no
 * memory. Pages take memory when they are used. */
struct inv_open_calls *inv_open_calls_make(uint32_t limit, uint64_t processes);
void inv_open_calls_free(struct inv_open_calls *o);

/* Returns false if there is no room for another function. The state of
 * functions that are stopped or released does not change. */
bool inv_open_calls_tell(struct inv_open_calls *o, const struct inv_called *f,
			 enum inv_ends ends);

struct inv_stopped_call {
	struct inv_called function;
	uint64_t process; /* that has reached the limit */
	uint32_t open;	  /* open calls of the process, of all functions */
};

/*
 * Finds the next function that is stopped, from index *at on, which is first 0.
 * Returns false if there is none.
 */
bool inv_open_calls_stopped(const struct inv_open_calls *o, uint32_t *at,
			    struct inv_stopped_call *stopped);
void inv_open_calls_release(struct inv_open_calls *o,
			    const struct inv_called *f);

/* Sets the rules of a function (nif/decide.h), a set of bits. Call this before
 * the function is added to the table. Returns false if there is no room for
 * another function. */
bool inv_open_calls_rule(struct inv_open_calls *o, const struct inv_called *f,
			 uint32_t rules);

/* Returns NULL if the function was never told. */
static inline struct inv_open_function *inv_open_calls_find(
	const struct inv_open_calls *o, const struct inv_called *f)
{
	return inv_open_functions_find(inv_open_calls_functions(o), f);
}

/* A function's number in the table, and the function with this number. */
static inline uint32_t inv_open_function_number(
	const struct inv_open_calls *o, const struct inv_open_function *f)
{
	return (uint32_t)(f - inv_open_calls_functions(o)->function);
}

static inline const struct inv_open_function *inv_open_function_at(
	const struct inv_open_calls *o, uint32_t number)
{
	return &inv_open_calls_functions(o)->function[number];
}

/* Counts a call whose end the VM will report. Returns true if the process is
 * held from now on. */
bool inv_open_calls_begin(struct inv_open_calls *o, struct inv_open_function *f,
			  uint64_t process);

/* Counts the end of a call. Returns false if this end is not to be recorded. */
bool inv_open_calls_end(struct inv_open_calls *o, struct inv_open_function *f,
			uint64_t process);

/*
 * inv_open_calls_want remembers whether the process's last call is recorded;
 * inv_open_calls_wanted tells whether the innermost open call is. If the
 * process has more than INV_OPEN_CALLS_WANTED open calls, or none, the result
 * is true. Calls nest: the VM reports the ends of a process in the reverse
 * order of the calls. If ends are missing, the results belong to other calls
 * until no call is open.
 */
#define INV_OPEN_CALLS_WANTED 1024u
void inv_open_calls_want(struct inv_open_calls *o, uint64_t process,
			 bool wanted);
bool inv_open_calls_wanted(const struct inv_open_calls *o, uint64_t process);

/* Returns true if the process is held. */
bool inv_open_calls_hold(struct inv_open_calls *o, uint64_t process);

#endif
