/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_THREAD_H
#define INV_NIF_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/likely.h"
#include "nif/thread_clock.h"

/*
 * The VM's threads, and how to find out that no thread uses a tracer any more.
 *
 * Tracer callbacks run only on normal and dirty scheduler threads. The number
 * of these threads is fixed when the VM starts, and they never end. Each thread
 * gets an index at its first event. Normal schedulers have the first indices,
 * from 0 on, then dirty CPU schedulers, then dirty IO schedulers.
 *
 * A thread first publishes that it is in a callback, and then checks whether
 * the tracer is still open. A process that closes a tracer first marks the
 * tracer as retired, and then looks for threads in callbacks. The thread and
 * the process each need a full barrier between their two steps. The process
 * makes both barriers, with membarrier(2), so that an event costs only two
 * plain stores. If the kernel has no membarrier(2), each callback makes its own
 * barrier, a fence.
 */
struct inv_thread {
	_Alignas(INV_CACHE_LINE) _Atomic uint32_t busy; /* 1 + the slot of the
							   tracer whose callback
							   the thread is in; 0:
							   none */
	uint32_t index;
	_Atomic(const void *) held;    /* the thread's hazard pointer
				       (inv_thread_hold); NULL: none */
	struct inv_thread_clock clock; /* only this thread uses it */
	/* The arguments of the last call of inv_starts_ask in this thread, and
	 * its decision. Only this thread uses them. */
	uint64_t start_handle; /* 0: there was no such call, or its decision was
				  used already */
	uint64_t start_process;
	bool start_refused; /* the event must not begin a request */
	struct inv_thread_clock_base clock_base; /* only this thread uses it */
};

extern INV_HIDDEN _Atomic bool
	inv_thread_fence; /* membarrier(2) is not available */

/* Call it once, when the library is loaded, with the number of threads of each
 * kind. */
void inv_threads_init(uint32_t normal, uint32_t dirty_cpu, uint32_t dirty_io);
uint32_t inv_threads_count(void);

/*
 * The calling thread; NULL until its first event. With the TLS model
 * initial-exec, the variable is in memory that each thread has from its start.
 * With the default model, a thread's first access would allocate memory, which
 * a callback must not do.
 */
extern INV_HIDDEN __thread struct inv_thread *inv_thread_me
	__attribute__((tls_model("initial-exec")));

struct inv_thread *inv_thread_register(void);

/* Returns the calling thread, or NULL if it is not a scheduler thread. */
static inline struct inv_thread *inv_thread_self(void)
{
	return inv_likely(inv_thread_me != NULL) ? inv_thread_me :
						   inv_thread_register();
}

/* Returns the time of an event that the calling thread handles. */
static inline uint64_t inv_thread_now(struct inv_thread *t)
{
	return inv_thread_clock_now(&t->clock, &t->clock_base);
}

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
	/* Release: this thread has finished with the tracer's memory. */
	atomic_store_explicit(&t->busy, 0, memory_order_release);
}

/*
 * Hazard pointer, for an object that can be exchanged while a tracer is open. A
 * thread publishes the object's pointer, and then checks that the object was
 * not exchanged meanwhile. The process that exchanges the object stores the new
 * pointer, makes the barrier, and frees the old object as soon as no thread
 * publishes its pointer. A thread publishes one pointer at a time.
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
	/* Release: this thread has finished with the object. */
	atomic_store_explicit(&t->held, NULL, memory_order_release);
}

/* Returns true if a thread publishes p. */
bool inv_threads_hold(const void *p);

/* For closing a tracer. inv_threads_barrier makes a full barrier in all
 * threads. Then inv_threads_busy returns true if a thread is in a callback of
 * the tracer in this slot. */
void inv_threads_barrier(void);
bool inv_threads_busy(uint32_t slot);

/* Like inv_threads_busy, but only for the thread with this index. */
bool inv_thread_busy(uint32_t index, uint32_t slot);

#endif
