/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_SPANS_H
#define INV_VM_SPANS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When the open calls of processes began: a stack for each process. Only the
 * thread that runs a process may call the functions below for it; the VM lets one
 * thread at a time run it (vm/place.h, vm/open_calls.h). No function waits or
 * allocates memory.
 *
 * The stack has three parts in three tables, whose pages take memory when they
 * are used: a process with few open calls uses 64 bytes.
 *
 *	calls 1 to 3    in its entry, a cache line
 *	calls 4 to 63   960 bytes
 *	up to 1024	15 KiB
 */
#define INV_SPANS_DEPTH 1024u

struct inv_spans;

struct inv_spans_call {
	uint64_t ns;	   /* when the call began */
	uint32_t function; /* a number that the caller has chosen */
	uint32_t key;	   /* the same; an end need not repeat it */
};

/* A table with a place for each of `processes'. Returns NULL if there is no
 * memory. If there is no address space for the larger parts, stacks are shorter:
 * inv_spans_depth. */
struct inv_spans *inv_spans_make(uint64_t processes);
void inv_spans_free(struct inv_spans *s);
uint32_t inv_spans_depth(const struct inv_spans *s);

/* Called for open calls that have no end. */
struct inv_spans_use {
	void *arg;
	/* Called for a call that was open, and whose end is missing. */
	void (*lost)(void *arg, uint64_t process,
		     const struct inv_spans_call *span);
	/* Returns true if the ends of the function will not be reported. */
	bool (*gone)(void *arg, uint32_t function);
};

/* A call begins. Returns false if the stack is full: the call's end will find no
 * beginning. */
bool inv_spans_begin(struct inv_spans *s, const struct inv_spans_use *use,
		     uint64_t process, const struct inv_spans_call *span);

/*
 * A call ends. Returns true and sets *span to what inv_spans_begin was told; or
 * returns false if the beginning is unknown. The VM reports ends in the reverse
 * order of the calls, so calls above it on the stack have lost their ends.
 */
bool inv_spans_end(struct inv_spans *s, const struct inv_spans_use *use,
		   uint64_t process, uint32_t function,
		   struct inv_spans_call *span);

/* Call it at the end, when no thread calls the functions above. Reports all
 * open calls as calls without an end, for the processes from index *at on,
 * which is 0 at the first call. Looks at `most' entries at most. Returns false
 * if there are no more entries. */
bool inv_spans_take(struct inv_spans *s, const struct inv_spans_use *use,
		    uint64_t *at, uint64_t most);

#endif
