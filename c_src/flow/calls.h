/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_CALLS_H
#define INV_FLOW_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * The open calls of one process: the calls of which no return was seen, the
 * innermost last.
 *
 * A return ends the innermost open call of its function. Calls inside that call
 * are then removed: their returns were not traced or are lost.
 */
struct inv_open_call {
	uint64_t mfa;	     /* struct inv_mfa, hash */
	int64_t begin_ns;    /* Erlang monotonic time */
	int64_t begin_ts_ns; /* Erlang system time */
	int64_t inner_ns;    /* time in ended calls inside this call */
	uint64_t item;	     /* number of the item of its event */
	size_t copy;	     /* offset of the copy of its event in `copies' */
	bool ends;	     /* the VM reports its end */
	bool has_copy;
};

/* All zero is valid, and has no calls. */
struct inv_calls {
	struct inv_open_call *v;
	uint32_t n;
	uint32_t cap;
	struct inv_buf copies; /* of the call events (flow/copy.h) */
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

/* Adds a call. Its inner_ns and copy are set to zero. Returns NULL if there is
 * no memory. The pointer is valid until the next call of a function. */
struct inv_open_call *inv_calls_push(struct inv_calls *calls);

/*
 * A call that has ended. Its copy, and the calls inside it that were removed,
 * v[depth + 1] to v[depth + inside], remain valid until the next call is pushed.
 */
struct inv_ended_call {
	struct inv_open_call call;
	uint32_t depth;	 /* open calls around it */
	uint32_t inside; /* calls inside it that were open, too */
};

/* Returns the innermost open call of mfa, or NULL. */
struct inv_open_call *inv_calls_find(const struct inv_calls *calls,
				     uint64_t mfa);

/* Ends the open call at end_ns. */
void inv_calls_end(struct inv_calls *calls, struct inv_open_call *call,
		   int64_t end_ns, struct inv_ended_call *ended);

/* Removes the open calls of mfa that began before the item with this number.
 * Returns how many were removed. */
uint32_t inv_calls_remove(struct inv_calls *calls, uint64_t mfa, uint64_t item);

/* Removes the outer half of the calls. Returns how many were removed. */
uint32_t inv_calls_halve(struct inv_calls *calls);

#endif
