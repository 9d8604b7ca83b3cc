/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_SPANS_H
#define INV_VM_SPANS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * For each process, a stack of its open calls with the times at which they
 * began. Only the thread that runs a process may call the functions below for
 * the process; the VM lets one thread at a time run it. No function waits or
 * allocates memory.
 *
 * The stack has three parts in three tables, whose pages take memory when they
 * are used: a process with few open calls uses 64 bytes.
 *
 *	calls 1 to 3       the process's entry, a cache line of 64 bytes
 *	calls 4 to 63      960 bytes
 *	calls 64 to 1024   15 KiB
 */
#define INV_SPANS_DEPTH 1024u

struct inv_spans;

struct inv_spans_call {
	uint64_t ns;	   /* when the call began */
	uint32_t function; /* a number that the caller has chosen */
	uint32_t key;	   /* another number that the caller has chosen;
			      inv_spans_end returns it */
};

/* Makes stacks for at most `processes' processes. Returns NULL if there is no
 * memory. If there is no address space for the larger parts, the stacks are
 * shorter; inv_spans_depth returns how many calls a stack can have. */
struct inv_spans *inv_spans_make(uint64_t processes);
void inv_spans_free(struct inv_spans *s);
uint32_t inv_spans_depth(const struct inv_spans *s);

/* Callbacks for open calls whose ends are missing. */
struct inv_spans_use {
	void *arg;
	/* Called for each call that is removed without an end. */
	void (*lost)(void *arg, uint64_t process,
		     const struct inv_spans_call *span);
	/* Returns true if the VM will not report the ends of the function's
	 * calls. */
	bool (*gone)(void *arg, uint32_t function);
};

/* Pushes a call that begins. Returns false if the stack is full; inv_spans_end
 * will then return false for this call. */
bool inv_spans_begin(struct inv_spans *s, const struct inv_spans_use *use,
		     uint64_t process, const struct inv_spans_call *span);

/*
 * Removes a call that ends. If the stack has the call, returns true and sets
 * *span to the call as it was passed to inv_spans_begin. Otherwise returns
 * false. The VM reports ends in the reverse order of the calls. So if other
 * calls are above this call on the stack, their ends are missing. These calls
 * are removed, too, and use->lost is called for each of them.
 */
bool inv_spans_end(struct inv_spans *s, const struct inv_spans_use *use,
		   uint64_t process, uint32_t function,
		   struct inv_spans_call *span);

/* Removes all open calls, and calls use->lost for each. Call it at the end,
 * when no thread calls the functions above. One call handles at most `most'
 * entries, from index *at on, and moves *at; *at is 0 at the first call.
 * Returns false if there are no more entries. */
bool inv_spans_take(struct inv_spans *s, const struct inv_spans_use *use,
		    uint64_t *at, uint64_t most);

#endif
