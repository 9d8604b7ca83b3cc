/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_OPEN_CALLS_H
#define INV_VM_OPEN_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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

/* A table with a place for each of `processes'. Returns NULL if there is no
 * memory. Pages take memory when they are used. */
struct inv_open_calls *inv_open_calls_make(uint32_t limit, uint64_t processes);
void inv_open_calls_free(struct inv_open_calls *o);

#define INV_OPEN_CALLS_FUNCTIONS (1u << 17)

struct inv_called {
	uint64_t module;
	uint64_t name;
	uint32_t arity;
};

/* Which calls of a function the VM reports the end of. */
enum inv_ends {
	INV_ENDS_NONE,	 /* of no call */
	INV_ENDS_ALL,	 /* of every call that it reports */
	INV_ENDS_MARKED, /* of calls with a mark (nif/ends.h) */
};

/* Returns false if there is no room for another function. Functions that are
 * stopped or released stay so. */
bool inv_open_calls_tell(struct inv_open_calls *o, const struct inv_called *f,
			 enum inv_ends ends);

struct inv_stopped_call {
	struct inv_called function;
	uint64_t process; /* that has reached the limit */
	uint32_t open;	  /* its open calls of all functions */
};

/*
 * Finds the next function that is stopped, from index *at on, which is first 0.
 * Returns false if there is none.
 */
bool inv_open_calls_stopped(const struct inv_open_calls *o, uint32_t *at,
			    struct inv_stopped_call *stopped);
void inv_open_calls_release(struct inv_open_calls *o,
			    const struct inv_called *f);

/* A function of the table; valid as long as the table. */
struct inv_open_function;

/* Returns NULL if the function was never told. */
struct inv_open_function *inv_open_calls_find(const struct inv_open_calls *o,
					      const struct inv_called *f);
enum inv_ends inv_open_function_ends(const struct inv_open_function *f);

/* A function's number in the table, and the function with this number. */
uint32_t inv_open_function_number(const struct inv_open_calls *o,
				  const struct inv_open_function *f);
const struct inv_open_function *inv_open_function_at(
	const struct inv_open_calls *o, uint32_t number);
struct inv_called inv_open_function_called(const struct inv_open_function *f);

/* Returns true if ends of the function are recorded. */
bool inv_open_function_reported(const struct inv_open_function *f);

/* Counts a call whose end the VM will report. Returns true if the process is
 * held from now on. */
bool inv_open_calls_begin(struct inv_open_calls *o, struct inv_open_function *f,
			  uint64_t process);

/* Counts the end of a call. Returns false if this end is not to be recorded. */
bool inv_open_calls_end(struct inv_open_calls *o, struct inv_open_function *f,
			uint64_t process);

/*
 * Remembers whether the call that the process has begun last is recorded, and
 * returns that of its innermost open call. Beyond INV_OPEN_CALLS_WANTED open
 * calls, and if the process has none, the result is true. Calls nest: the VM
 * reports the ends of a process in the reverse order of the calls. If ends are
 * missing, the results are those of other calls, until no call is open.
 */
#define INV_OPEN_CALLS_WANTED 1024u
void inv_open_calls_want(struct inv_open_calls *o, uint64_t process,
			 bool wanted);
bool inv_open_calls_wanted(const struct inv_open_calls *o, uint64_t process);

/* Returns true if the process is held. */
bool inv_open_calls_hold(struct inv_open_calls *o, uint64_t process);

#endif
