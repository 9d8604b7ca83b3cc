/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_FRESH_H
#define INV_NIF_FRESH_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdint.h>

/*
 * A queue of the processes of this node that a thread has recorded for the
 * first time. The namer takes them from the queue, and writes their names into
 * the log. Only this thread adds to the queue. Only one Erlang process at a
 * time takes from it.
 *
 * `seen' is a hash table of the processes that were added. A process overwrites
 * an earlier process with the same hash. If the earlier process occurs again,
 * it is added again. If the queue is full, a process is not added now, but when
 * a later packet defines it.
 */
#define INV_FRESH_SEEN 1024u
#define INV_FRESH_QUEUE 256u

struct inv_fresh {
	ERL_NIF_TERM seen[INV_FRESH_SEEN];
	_Atomic uint32_t added; /* how many processes were ever added to the
				   queue */
	_Atomic uint32_t taken; /* how many of them were taken */
	ErlNifPid queue[INV_FRESH_QUEUE];
};

/* Adds the process `pid', whose term is `term', unless `seen' has it or the
 * queue is full. */
static inline void inv_fresh_add(struct inv_fresh *f, ERL_NIF_TERM term,
				 const ErlNifPid *pid)
{
	ERL_NIF_TERM *seen =
		&f->seen[(uint64_t)term * 0x9e3779b97f4a7c15u >> 54];
	uint32_t n = atomic_load_explicit(&f->added, memory_order_relaxed);

	if (*seen == term ||
	    n - atomic_load_explicit(&f->taken, memory_order_acquire) >=
		    INV_FRESH_QUEUE)
		return;
	*seen = term;
	f->queue[n % INV_FRESH_QUEUE] = *pid;
	/* Release: pairs with inv_fresh_take. */
	atomic_store_explicit(&f->added, n + 1, memory_order_release);
}

/* Takes the oldest process. Returns 0 if there is none. */
static inline int inv_fresh_take(struct inv_fresh *f, ErlNifPid *pid)
{
	uint32_t n = atomic_load_explicit(&f->taken, memory_order_relaxed);

	if (n == atomic_load_explicit(&f->added, memory_order_acquire))
		return 0;
	*pid = f->queue[n % INV_FRESH_QUEUE];
	atomic_store_explicit(&f->taken, n + 1, memory_order_release);
	return 1;
}

#endif
