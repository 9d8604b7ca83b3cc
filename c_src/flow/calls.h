/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_CALLS_H
#define INV_FLOW_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct inv_paths_frame;

/*
 * The open calls of one process: the calls without a return so far, the
 * innermost last.
 *
 * A return ends the innermost open call of its function. Calls inside that call
 * are then removed: their returns were not traced or are lost.
 */
struct inv_open_call {
	uint64_t mfa;	     /* hash of the function, as in struct inv_mfa */
	int64_t begin_ns;    /* on the clock of the events */
	int64_t begin_ts_ns; /* Erlang system time */
	int64_t inner_ns;    /* time in ended calls inside this call */
	uint64_t item;	     /* number of the item with the call's event */
	size_t copy;	     /* offset in `copies' of the copy of the call's
			      * event */
	struct inv_paths_frame *frame; /* in the flow's profile; NULL: none */
	bool ends;		       /* the call's event says that the VM
					  will report the call's end
					  (INV_HEAD_ENDS) */
	bool has_copy;
};

/* A struct of zeros is valid, and has no calls. */
struct inv_calls {
	struct inv_open_call *v;
	uint32_t n;
	uint32_t cap;
	struct inv_buf copies; /* copies of call events (flow/copy.h) */
};

void inv_calls_release(struct inv_calls *calls);

/* Returns end_ns - begin_ns, with wraparound: times in a damaged file may be
 * anything. */
static inline int64_t inv_calls_between(int64_t begin_ns, int64_t end_ns)
{
	return (int64_t)((uint64_t)end_ns - (uint64_t)begin_ns);
}

/* Returns the bytes of memory that the calls use. */
static inline size_t inv_calls_size(const struct inv_calls *calls)
{
	return calls->cap * sizeof(*calls->v) + calls->copies.cap;
}

/* Adds a call. `copy' is set to the end of `copies', and all other fields to
 * zero. Returns NULL if there is no memory. The pointer is valid until another
 * function changes `calls'. */
struct inv_open_call *inv_calls_push(struct inv_calls *calls);

/*
 * A call that has ended. The copy of its event stays valid until the next
 * inv_calls_push. Until then, the removed calls that were inside this call are
 * valid, too: v[depth + 1] to v[depth + inside] of struct inv_calls.
 */
struct inv_ended_call {
	struct inv_open_call call;
	uint32_t depth;	 /* how many calls were open around this call */
	uint32_t inside; /* how many calls inside this call were still open;
			    inv_calls_end has removed them */
};

/* Returns the innermost open call of mfa, or NULL. */
struct inv_open_call *inv_calls_find(const struct inv_calls *calls,
				     uint64_t mfa);

/* Ends the open call at end_ns, and sets *ended. */
void inv_calls_end(struct inv_calls *calls, struct inv_open_call *call,
		   int64_t end_ns, struct inv_ended_call *ended);

/* Removes the open calls of mfa that began before the item with the number
 * `item'. Returns how many were removed. */
uint32_t inv_calls_remove(struct inv_calls *calls, uint64_t mfa, uint64_t item);

/* Removes the outer half of the calls. Returns how many were removed. */
uint32_t inv_calls_halve(struct inv_calls *calls);

#endif
