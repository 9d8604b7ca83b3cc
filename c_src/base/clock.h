/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_CLOCK_H
#define INV_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/*
 * Returns the time of a clock of the operating system, in ns. C code reads its
 * clocks in this way, but calls time() if seconds are enough. (Erlang's times
 * come from the VM.) Deadlines are times of the monotonic clock.
 */
static inline uint64_t inv_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Events have times of this clock. A call takes 20 to 30 ns (vDSO), so threads
 * of the VM do not call it for each event (nif/thread_clock.h). */
static inline uint64_t inv_mono_ns(void)
{
	return inv_clock_ns(CLOCK_MONOTONIC);
}

/*
 * The time of inv_mono_ns in ms. The result is signed, so that a deadline minus
 * this time is negative when the deadline has passed.
 */
static inline int64_t inv_mono_ms(void)
{
	return (int64_t)(inv_mono_ns() / 1000000);
}

/* Wall clock: nanoseconds since the Unix epoch. */
static inline uint64_t inv_real_ns(void)
{
	return inv_clock_ns(CLOCK_REALTIME);
}

/* Converts ms to the C library's type for times and durations. */
static inline struct timespec inv_timespec_ms(int64_t ms)
{
	return (struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 };
}

static inline void inv_sleep_ms(unsigned ms)
{
	struct timespec t = inv_timespec_ms(ms);

	nanosleep(&t, NULL);
}

#endif
