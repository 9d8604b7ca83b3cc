/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/thread_clock.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#ifdef __x86_64__

/* True: the time stamp counters of all processors agree, and tick at a constant
 * rate. */
static _Atomic bool is_usable;

#define CLOCK_SOURCE \
	"/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* The kernel uses the counter as its clock source only if it has found that the
 * counters of all processors agree. */
void inv_thread_clock_init(void)
{
	char source[8] = "";
	int fd = open(CLOCK_SOURCE, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	atomic_store(&is_usable, read(fd, source, sizeof(source) - 1) > 0 &&
					 strcmp(source, "tsc\n") == 0);
	close(fd);
}

/* For how many ticks a thread does not call inv_mono_ns() again. At 2.6 GHz
 * this is 25 us. */
#define VALID (1u << 16)

/* In how many ticks the rate is measured: at least MEASURE_MIN, 13 ms at 2.6
 * GHz, so that an error of 200 ns in a reading becomes an error of 0.4 ns in
 * VALID ticks; at most MEASURE_MAX, because in a longer time the machine may
 * have slept. */
#define MEASURE_MIN (1u << 25)
#define MEASURE_MAX (1u << 31)

/* If a call of inv_mono_ns() takes more ticks than this, the thread was
 * interrupted, so the counter and the clock were not read at the same time. At
 * 2.6 GHz this is 0.2 us, and a call usually takes 0.04 us. */
#define UNINTERRUPTED (1u << 9)

/* Returns the rate from *base to the last reading of *c; 0: the counter ticks
 * slower than 1 GHz, so the clock does not use it. */
static uint32_t measured(const struct inv_thread_clock *c,
			 const struct inv_thread_clock_base *base)
{
	uint64_t ticks = c->ticks - base->ticks;
	uint64_t ns = c->ns - base->ns;

	return ns < ticks ? (uint32_t)((ns << 32) / ticks) : 0;
}

/* Measures the rate if enough ticks have passed. If too many have passed, only
 * begins a new measurement. */
static void keep_rate(struct inv_thread_clock *c,
		      struct inv_thread_clock_base *base)
{
	uint64_t passed = c->ticks - base->ticks;

	if (base->ticks && passed < MEASURE_MIN)
		return;
	if (base->ticks && passed < MEASURE_MAX)
		c->rate = measured(c, base);
	*base = (struct inv_thread_clock_base){ c->ticks, c->ns };
}

uint64_t inv_thread_clock_read(struct inv_thread_clock *c,
			       struct inv_thread_clock_base *base)
{
	uint64_t before;
	uint64_t now;
	uint64_t took;
	/* The thread may have returned this time already. */
	uint64_t last = c->ns + ((uint64_t)c->valid * c->rate >> 32);

	if (!atomic_load_explicit(&is_usable, memory_order_relaxed))
		return inv_mono_ns();
	before = __builtin_ia32_rdtsc();
	now = inv_mono_ns();
	took = __builtin_ia32_rdtsc() - before;
	c->valid = 0;
	/* The clock is ahead of inv_mono_ns(), and stands still until
	 * inv_mono_ns() has reached it. This time is no reading, so the rate
	 * is not measured with it. */
	if (now < last) {
		c->ns = last;
		return last;
	}
	c->ns = now;
	if (took > UNINTERRUPTED)
		return now;
	c->ticks = before + took / 2;
	keep_rate(c, base);
	if (c->rate)
		c->valid = VALID;
	return now;
}

#else

void inv_thread_clock_init(void)
{
}

uint64_t inv_thread_clock_read(struct inv_thread_clock *c,
			       struct inv_thread_clock_base *base)
{
	(void)c;
	(void)base;
	return inv_mono_ns();
}

#endif
