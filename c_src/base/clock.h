/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_CLOCK_H
#define INV_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t inv_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The clock of the events' begin_ns. */
static inline uint64_t inv_mono_ns(void)
{
	return inv_clock_ns(CLOCK_MONOTONIC);
}

/* Since the Unix epoch. */
static inline uint64_t inv_real_ns(void)
{
	return inv_clock_ns(CLOCK_REALTIME);
}

static inline void inv_sleep_ms(unsigned ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

#endif
