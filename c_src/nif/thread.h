/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_THREAD_H
#define INV_NIF_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/ring.h"

/*
 * The VM's threads as rings see them, and how a tracer knows that no thread is
 * using it any more.
 *
 * Tracer callbacks run on normal and dirty scheduler threads only, whose number
 * is fixed when the VM starts and which never end.  Each gets an index at its
 * first event: normal ones from 0, then dirty CPU, then dirty IO.
 *
 * A thread says that it is in a callback before it looks whether its tracer is
 * still open, and a closing tracer is marked before it looks for threads that
 * say so.  Between the two a full barrier is due on both sides; the callbacks'
 * half is done by the closing side with membarrier(2), so that an event costs
 * two plain stores.  Where the kernel refuses it, callbacks pay a fence.
 */
struct inv_thread {
	_Alignas(INV_CACHE_LINE) _Atomic uint32_t busy; /* slot number + 1 */
	uint32_t index;
	_Atomic(const void *) held; /* see inv_thread_hold */
};

extern _Atomic bool inv_thread_fence; /* membarrier(2) is not to be had */

/* Once, at load: how many threads of each kind the VM has. */
void inv_threads_init(uint32_t normal, uint32_t dirty_cpu, uint32_t dirty_io);
uint32_t inv_threads_count(void);

/* The calling thread; NULL if it is not one of those above. */
struct inv_thread *inv_thread_self(void);

static inline void inv_thread_enter(struct inv_thread *t, uint32_t slot)
{
	atomic_store_explicit(&t->busy, slot + 1, memory_order_relaxed);
	if (atomic_load_explicit(&inv_thread_fence, memory_order_relaxed))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
}

static inline void inv_thread_leave(struct inv_thread *t)
{
	/* Release: what we did in the tracer's memory is done. */
	atomic_store_explicit(&t->busy, 0, memory_order_release);
}

/*
 * Of what is exchanged while a tracer is open a thread says that it holds it,
 * and looks again whether it is still there; who has exchanged it asks, after
 * the barrier, whether a thread holds the old one.  A thread holds one thing.
 */
static inline void inv_thread_hold(struct inv_thread *t, const void *p)
{
	atomic_store_explicit(&t->held, p, memory_order_relaxed);
	if (atomic_load_explicit(&inv_thread_fence, memory_order_relaxed))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
}

static inline void inv_thread_let_go(struct inv_thread *t)
{
	/* Release: what we did with it is done. */
	atomic_store_explicit(&t->held, NULL, memory_order_release);
}

bool inv_threads_hold(const void *p);

/* The closing side's barrier, and its question after it. */
void inv_threads_barrier(void);
bool inv_threads_busy(uint32_t slot);

#endif
