/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_OPEN_CALLS_H
#define INV_VM_OPEN_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vm/open_function.h"

/*
 * The open calls of processes: traced calls that have not ended, and whose end
 * the VM will report. The VM puts a frame on the process's stack for each of
 * them. So the stack of a process that loops by tail calls grows as long as the
 * loop runs. The limit on open calls prevents this. A function has these
 * states:
 *
 *	      inv_open_calls_tell          the limit is reached
 *	unknown ───────────────► counted ──────────────────────► stopped
 *	                                                            │
 *	                        released ◄─── inv_open_calls_release┘
 *
 * counted   The function's open calls are counted, for each process.
 * stopped   A process has reached the limit, and has more open calls of this
 *           function than of any other function. Ends of the function's calls
 *           are not recorded any more. Otherwise such an end could be taken for
 *           the end of a later call. The process is `held': its calls are left
 *           out, because the VM would add frames.
 * released  The session has changed the function's pattern, so that the VM does
 *           not report ends of new calls. Calls are recorded, but not counted.
 *
 * inv_open_calls_tell, _rule, _stopped and _release read or write the table of
 * functions, and need the lock of the tracer. The other functions are for
 * callbacks of the tracer. They change the entry of the process that is passed,
 * so they must run in the thread that runs this process; the VM lets one thread
 * at a time run it. No function waits or allocates memory.
 *
 * Modules, names and processes are terms of the VM: atoms and pids.
 */
struct inv_open_calls;

/* Returns the table of functions, the first member of *o. */
static inline const struct inv_open_functions *inv_open_calls_functions(
	const struct inv_open_calls *o)
{
	return (const struct inv_open_functions *)o;
}

/* Makes a table for at most `processes' processes. `limit' is the number of
 * open calls that a process may have. Returns NULL if there is no memory. A
 * page takes memory when it is first used. */
struct inv_open_calls *inv_open_calls_make(uint32_t limit, uint64_t processes);
void inv_open_calls_free(struct inv_open_calls *o);

/* Adds a function to the table, or sets for which of its calls the VM reports
 * ends. The state becomes `counted', unless it is `stopped' or `released'. With
 * INV_ENDS_NONE, does not add a function. Returns false if there is no room for
 * another function. */
bool inv_open_calls_tell(struct inv_open_calls *o, const struct inv_called *f,
			 enum inv_ends ends);

struct inv_stopped_call {
	struct inv_called function;
	uint64_t process; /* the first process that has reached the limit */
	uint32_t open;	  /* how many open calls the process had, all functions
			     together */
};

/*
 * Finds the next function whose state is `stopped', from index *at on, and
 * moves *at behind it. *at is 0 at the first call. Returns false if there are
 * no more.
 */
bool inv_open_calls_stopped(const struct inv_open_calls *o, uint32_t *at,
			    struct inv_stopped_call *stopped);
void inv_open_calls_release(struct inv_open_calls *o,
			    const struct inv_called *f);

/* Makes rules of the tracer (nif/decide.h) apply to the function, in addition
 * to those that apply already: bit i of `rules' is rule i. Call it before
 * inv_open_calls_tell. Returns false if there is no room for another
 * function. */
bool inv_open_calls_rule(struct inv_open_calls *o, const struct inv_called *f,
			 uint32_t rules);

/* Returns the function with this number. The numbers are the indices of the
 * entries of the table. */
static inline const struct inv_open_function *inv_open_function_at(
	const struct inv_open_calls *o, uint32_t number)
{
	return &inv_open_calls_functions(o)->function[number];
}

/* Returns the function's number, or INV_OPEN_CALLS_PLACES if the table does not
 * have the function. */
static inline uint32_t inv_open_calls_find(const struct inv_open_calls *o,
					   const struct inv_called *f)
{
	uint32_t at = inv_open_functions_search(inv_open_calls_functions(o), f);

	return at < INV_OPEN_CALLS_PLACES &&
			       inv_open_function_used(
				       inv_open_function_at(o, at)) ?
		       at :
		       INV_OPEN_CALLS_PLACES;
}

/* Counts a call that begins, and whose end the VM will report. Returns true if
 * the process has reached the limit and is held from now on. */
bool inv_open_calls_begin(struct inv_open_calls *o, uint32_t function,
			  uint64_t process);

/* Counts the end of a call. Returns false if the end must not be recorded,
 * because the function is stopped or released. */
bool inv_open_calls_end(struct inv_open_calls *o, uint32_t function,
			uint64_t process);

/*
 * inv_open_calls_want stores whether the tracer's filter wants the call that
 * the process has just begun. inv_open_calls_wanted returns what was stored for
 * the innermost open call. inv_open_calls_wanted returns true if the process
 * has more than INV_OPEN_CALLS_WANTED open calls, and false if the process has
 * none. The VM reports the ends of a process's calls in the reverse order of
 * the calls. If an end is missing, the results can be those of other calls
 * until no call is open.
 */
#define INV_OPEN_CALLS_WANTED 1024u
void inv_open_calls_want(struct inv_open_calls *o, uint64_t process,
			 bool wanted);
bool inv_open_calls_wanted(const struct inv_open_calls *o, uint64_t process);

/* Returns true if the process is held: its calls must not be recorded. */
bool inv_open_calls_hold(struct inv_open_calls *o, uint64_t process);

#endif
