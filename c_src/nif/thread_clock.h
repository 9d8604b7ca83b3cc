/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_THREAD_CLOCK_H
#define INV_NIF_THREAD_CLOCK_H

#include <stdint.h>

#include "base/likely.h"

/*
 * The clock from which a thread takes the times of its events. It differs from
 * inv_mono_ns() by less than 0.3 us, and takes about half as long as
 * inv_mono_ns(). After another program has changed the rate of the system's
 * clock by a tenth, the difference can be 3 us until the new rate is measured.
 *
 * On x86-64, the thread converts the ticks of the processor's time stamp
 * counter (TSC) since its last call of inv_mono_ns() into ns, and adds them to
 * the result of that call. At the first event after 2^16 ticks (25 us at
 * 2.6 GHz) the thread calls inv_mono_ns() again, so that errors cannot add up.
 * It calls inv_mono_ns() for each event if the TSC is not the kernel's clock
 * source, on other architectures, and until the rate of the ticks is measured
 * (docs/decisions/0131-times-from-the-time-stamp-counter.md).
 *
 * The times of one thread do not decrease as long as the TSCs of the
 * processors agree. Only the thread itself may use its clock.
 */
struct inv_thread_clock {
	uint64_t ticks; /* the TSC at the last call of inv_mono_ns() that was
			   not interrupted; used only if `valid' is not 0 */
	uint64_t ns;	/* the time at `ticks'; if `valid' is 0, the last time
			   that was returned */
	uint32_t rate;	/* ns per tick, in units of 2^-32; 0: unknown */
	uint32_t valid; /* for how many ticks after `ticks' the clock need not
			   call inv_mono_ns() again */
};

/* The call of inv_mono_ns() with which the measurement of the rate began. */
struct inv_thread_clock_base {
	uint64_t ticks; /* 0: there was no such call */
	uint64_t ns;
};

/* Call it when the library is loaded. It reads a file in /sys. */
void inv_thread_clock_init(void);

/* Calls inv_mono_ns(). If the TSC is usable, updates *c, and updates *base when
 * a measurement begins. Returns the time, which is never before an earlier
 * one. */
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
