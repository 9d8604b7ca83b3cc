/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ring/rate.h"

#define SECOND 1000000000u
#define START (12345u * (uint64_t)SECOND + 678)

/* Rates in events per second. Near these rates, the number or the size of
 * leases changes. */
static const uint32_t rates[] = { 1,	 2,	  15,	      16,    17,
				  31,	 100,	  511,	      512,   513,
				  1000,	 4096,	  32767,      32768, 32769,
				  99999, 1000000, 4000000000u };
#define N_RATES (sizeof(rates) / sizeof(rates[0]))

/* Takes all leases that are available at the time `now'. Returns how many
 * events these leases permit together. */
static uint64_t drain(struct inv_rate *r, uint64_t now)
{
	uint64_t sum = 0;
	uint32_t n;

	while ((n = inv_rate_lease(r, now)) > 0) {
		assert_true(n <= inv_rate_lease_max(r));
		sum += n;
	}
	return sum;
}

static void a_burst_after_a_quiet_second_passes(void **state)
{
	static struct inv_rate r;
	size_t i;

	(void)state;
	for (i = 0; i < N_RATES; i++) {
		inv_rate_init(&r, rates[i], START);
		assert_false(atomic_load(&r.reached));
		assert_int_equal(drain(&r, START), rates[i]);
		assert_true(atomic_load(&r.reached));
		assert_int_equal(drain(&r, START + SECOND - 1), 0);
		assert_int_equal(drain(&r, START + SECOND + 5000), rates[i]);
		/* Even after a pause of 100 s, only one second's events are
		 * available. */
		assert_int_equal(drain(&r, START + 100ull * SECOND), rates[i]);
	}
}

static void a_clock_near_zero_works(void **state)
{
	static struct inv_rate r;

	(void)state;
	inv_rate_init(&r, 1000, 5);
	assert_int_equal(drain(&r, 6), 1000);
	assert_int_equal(drain(&r, SECOND - 1), 0);
}

static void leases_are_small(void **state)
{
	static struct inv_rate r;
	size_t i;

	(void)state;
	for (i = 0; i < N_RATES; i++) {
		inv_rate_init(&r, rates[i], START);
		assert_true(inv_rate_lease_max(&r) <= 32 ||
			    inv_rate_lease_max(&r) <= rates[i] / 1024 + 1);
		assert_true(r.slots >= 16 || r.slots == rates[i]);
	}
}

#define STEPS 6000

struct grant {
	uint64_t at;
	uint32_t n;
};

/* Returns the sum of the events in the busiest second. */
static uint64_t busiest(const struct grant *g, unsigned n)
{
	uint64_t most = 0, sum = 0;
	unsigned from = 0, i;

	for (i = 0; i < n; i++) {
		sum += g[i].n;
		while (g[i].at - g[from].at >= SECOND)
			sum -= g[from++].n;
		if (sum > most)
			most = sum;
	}
	return most;
}

static void no_second_has_more_events_than_the_rate(void **state)
{
	static struct grant g[STEPS];
	static struct inv_rate r;
	unsigned n, step;
	uint64_t now;
	size_t i;

	(void)state;
	srand(7);
	for (i = 0; i < N_RATES; i++) {
		inv_rate_init(&r, rates[i], START);
		now = START;
		n = 0;
		for (step = 0; step < STEPS; step++) {
			/* The time advances by less than 1 ms, and in one of
			 * eight steps by less than 1 s. */
			now += (uint64_t)(rand() % 1000) *
			       (rand() % 8 ? 1000 : 1000000);
			g[n].at = now;
			g[n].n = inv_rate_lease(&r, now);
			n += g[n].n > 0;
		}
		assert_true(n > 10);
		assert_true(busiest(g, n) <= rates[i]);
	}
}

/* Another thread took the last lease. After that, a thread requests a lease for
 * an earlier time. */
static void a_time_in_the_past_gets_no_lease(void **state)
{
	static struct inv_rate r;

	(void)state;
	inv_rate_init(&r, 3, START);
	assert_int_equal(drain(&r, START + 500), 3);
	assert_int_equal(inv_rate_lease(&r, START + 100), 0);
	assert_int_equal(inv_rate_lease(&r, START - 2ull * SECOND), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_after_a_quiet_second_passes),
		cmocka_unit_test(a_clock_near_zero_works),
		cmocka_unit_test(leases_are_small),
		cmocka_unit_test(no_second_has_more_events_than_the_rate),
		cmocka_unit_test(a_time_in_the_past_gets_no_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
