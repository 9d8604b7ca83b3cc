/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "nif/thread_clock.h"

/* More than the clock may differ from inv_mono_ns() while the rate of the
 * system's clock does not change. */
#define ERROR_NS 1000u

/* Long enough that a clock's rate is measured several times. */
#define LONG_NS 200000000u

struct clock {
	struct inv_thread_clock clock;
	struct inv_thread_clock_base base;
};

static uint64_t now_of(struct clock *c)
{
	return inv_thread_clock_now(&c->clock, &c->base);
}

static int set_up(void **state)
{
	(void)state;
	inv_thread_clock_init();
	return 0;
}

/* For `ns', reads the clock between two calls of inv_mono_ns(), and checks that
 * its time is between theirs, within ERROR_NS. */
static void read_for(struct clock *c, uint64_t ns)
{
	uint64_t end = inv_mono_ns() + ns;
	uint64_t before;
	uint64_t now;

	do {
		before = inv_mono_ns();
		now = now_of(c);
		assert_true(now + ERROR_NS >= before);
		assert_true(now <= inv_mono_ns() + ERROR_NS);
	} while (before < end);
}

/* This test is the first. inv_thread_clock_init() was not called yet, so the
 * TSC is not used, as if the kernel had another clock source. */
static void agrees_without_the_tsc(void **state)
{
	struct clock c = { 0 };

	(void)state;
	read_for(&c, LONG_NS);
	assert_int_equal(c.clock.rate, 0);
}

static void agrees_with_the_clock(void **state)
{
	struct clock c = { 0 };

	(void)state;
	read_for(&c, LONG_NS);
}

/* The thread pauses between short bursts of readings, as one that has few
 * events. */
static void agrees_after_pauses(void **state)
{
	struct clock c = { 0 };

	(void)state;
	read_for(&c, LONG_NS);
	for (unsigned ms = 1; ms <= 256; ms *= 4) {
		inv_sleep_ms(ms);
		read_for(&c, 1000000);
	}
}

static void never_decreases(void **state)
{
	struct clock c = { 0 };
	uint64_t end = inv_mono_ns() + LONG_NS;
	uint64_t last = 0;
	uint64_t now;

	(void)state;
	do {
		now = now_of(&c);
		assert_true(now >= last);
		last = now;
	} while (now < end);
}

/* Sets a wrong rate in the thread's clock, as if the rate of the system's clock
 * had changed. */
static void a_wrong_rate_is_measured_again(void **state)
{
	struct clock c = { 0 };
	uint32_t rate;

	(void)state;
	read_for(&c, LONG_NS);
	rate = c.clock.rate;
	if (rate == 0)
		skip(); /* the TSC is not used here */
	for (int i = 0; i < 2; i++) {
		c.clock.rate = i ? rate + rate / 16 : rate - rate / 16;
		for (uint64_t ticks = c.base.ticks; c.base.ticks == ticks;)
			(void)now_of(&c);
		assert_in_range(c.clock.rate, rate - rate / 1024,
				rate + rate / 1024);
		read_for(&c, LONG_NS);
	}
}

/* --- two threads ---------------------------------------------------------- */

static _Atomic uint64_t turn; /* the number of the next write; its lowest bit
				 says which thread writes */
static uint64_t written;
static _Atomic unsigned early;
static uint64_t end;

static bool waits_for_turn(uint64_t i)
{
	while (atomic_load_explicit(&turn, memory_order_acquire) != i)
		if (inv_mono_ns() > end)
			return false;
	return true;
}

/* Writes this thread's time whenever it is its turn, until `end'. Counts the
 * times that are more than ERROR_NS before the other thread's last time. */
static void *take_turns(void *arg)
{
	uint64_t i = *(const uint64_t *)arg;
	struct clock c = { 0 };
	uint64_t now;

	for (; waits_for_turn(i); i += 2) {
		now = now_of(&c);
		if (now + ERROR_NS < written)
			atomic_fetch_add(&early, 1);
		written = now;
		atomic_store_explicit(&turn, i + 1, memory_order_release);
	}
	return NULL;
}

static void threads_agree(void **state)
{
	uint64_t second = 1;
	uint64_t first = 0;
	pthread_t other;

	(void)state;
	end = inv_mono_ns() + LONG_NS;
	assert_int_equal(pthread_create(&other, NULL, take_turns, &second), 0);
	(void)take_turns(&first);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_true(turn > 2);
	assert_int_equal(early, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_without_the_tsc),
		cmocka_unit_test_setup(agrees_with_the_clock, set_up),
		cmocka_unit_test_setup(agrees_after_pauses, set_up),
		cmocka_unit_test_setup(never_decreases, set_up),
		cmocka_unit_test_setup(a_wrong_rate_is_measured_again, set_up),
		cmocka_unit_test_setup(threads_agree, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
