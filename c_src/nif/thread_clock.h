/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_THREAD_CLOCK_H
#define INV_NIF_THREAD_CLOCK_H

#include <stdint.h>

#include "base/likely.h"

/*
 * The clock from which a thread takes the times of its events. It differs
 * from inv_mono_ns() by less than 0.3 us, and is read in about half the time.
 * While another program changes the rate of the system's clock by a tenth, the
 * difference can be 3 us.
 *
 * On x86-64, the thread reads the processor's time stamp counter, and adds the
 * ticks since the thread's last call of inv_mono_ns(). It calls inv_mono_ns()
 * again after about 25 us, so that errors cannot add up. If the kernel does not
 * use the counter as its clock source, the counters of the processors may
 * differ; then the thread calls inv_mono_ns() for each event, as on other
 * architectures (docs/decisions/0131-times-from-the-time-stamp-counter.md).
 *
 * The times of one thread never decrease. Only the thread itself may use its
 * clock.
 */
struct inv_thread_clock {
	uint64_t ticks; /* the counter at the last call of inv_mono_ns() */
	uint64_t ns;	/* the result of this call */
	uint32_t rate;	/* ns per tick, in units of 2^-32; 0: unknown */
	uint32_t valid; /* for how many ticks after `ticks' the clock need not
			   call inv_mono_ns() again */
};

/* The call of inv_mono_ns() since which the rate is measured. */
struct inv_thread_clock_base {
	uint64_t ticks; /* 0: there was no such call */
	uint64_t ns;
};

/* Call it once, when the library is loaded. It reads a file of the kernel. */
void inv_thread_clock_init(void);

/* Calls inv_mono_ns() and, if possible, sets *c and *base. Returns the time. */
uint64_t inv_thread_clock_read(struct inv_thread_clock *c,
			       struct inv_thread_clock_base *base);

/* Returns the time in ns. The origin is that of inv_mono_ns(). */
static inline uint64_t inv_thread_clock_now(struct inv_thread_clock *c,
					    struct inv_thread_clock_base *base)
{
#ifdef __x86_64__
	uint64_t passed;

	if (inv_likely(c->valid)) {
		passed = __builtin_ia32_rdtsc() - c->ticks;
		if (inv_likely(passed < c->valid))
			return c->ns + (passed * c->rate >> 32);
	}
#endif
	return inv_thread_clock_read(c, base);
}

/*
 * Returns the time from an event to a later event of the same process. If the
 * process has moved to another thread, whose clock differs, the later event may
 * have the earlier time; then the result is 0.
 */
static inline uint64_t inv_ns_between(uint64_t from, uint64_t to)
{
	return inv_likely(to > from) ? to - from : 0;
}

#endif
