/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/thread_clock.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#ifdef __x86_64__

/* True: the TSC was the kernel's clock source when the library was loaded. */
static _Atomic bool is_usable;

#define CLOCK_SOURCE \
	"/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* Reads the name of the kernel's clock source. The kernel uses the TSC only if
 * the TSCs of all processors agree. */
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

/* A thread calls inv_mono_ns() again after this many ticks (25 us at
 * 2.6 GHz). */
#define VALID (1u << 16)

/* The rate is measured over at least MEASURE_MIN ticks (13 ms at 2.6 GHz): an
 * error of 200 ns in a reading is then an error of 0.4 ns in VALID ticks. It is
 * measured over fewer than MEASURE_MAX ticks, because in a longer time the
 * machine may have slept. */
#define MEASURE_MIN (1u << 25)
#define MEASURE_MAX (1u << 31)

/* If a call of inv_mono_ns() takes more ticks than this (0.2 us at 2.6 GHz),
 * the thread was probably interrupted, so the TSC and the clock were not read
 * at the same time. */
#define MAX_READING (1u << 9)

/* Returns the rate from *base to the last reading of *c; 0: the TSC ticks at
 * 1 GHz or slower, so the clock does not use it. */
static uint32_t measured(const struct inv_thread_clock *c,
			 const struct inv_thread_clock_base *base)
{
	uint64_t ticks = c->ticks - base->ticks;
	uint64_t ns = c->ns - base->ns;

	return ns < ticks ? (uint32_t)((ns << 32) / ticks) : 0;
}

/* If enough ticks have passed since *base, measures the rate, and begins a new
 * measurement. At the first call, or if too many ticks have passed, only begins
 * a measurement. */
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
	/* The latest time that the clock may have returned. */
	uint64_t last = c->ns + ((uint64_t)c->valid * c->rate >> 32);

	if (!atomic_load_explicit(&is_usable, memory_order_relaxed))
		return inv_mono_ns();
	before = __builtin_ia32_rdtsc();
	now = inv_mono_ns();
	took = __builtin_ia32_rdtsc() - before;
	c->valid = 0;
	/* If the clock is ahead of inv_mono_ns(), it stands still until
	 * inv_mono_ns() has reached it. The rate is not measured with this
	 * time. */
	if (now < last) {
		c->ns = last;
		return last;
	}
	c->ns = now;
	if (took > MAX_READING)
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
