/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Several threads share one rate, and take leases from it as fast as they can
 * (ring/rate.h: a lease is the right to record a number of events).
 * ThreadSanitizer checks the threads, and this program checks the rate: in each
 * second, all threads together may get only as many events as the rate allows.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ring/rate.h"

#define N_THREADS 4
#define N_GRANTS 4096
#define RATE 20000u
#define SECOND 1000000000u
#define RUN_NS (2500u * 1000000ull)

struct grant {
	uint64_t at;
	uint32_t n;
};

struct taker {
	struct inv_rate *rate;
	uint64_t end;
	unsigned n;
	struct grant grants[N_GRANTS];
};

static void *take(void *arg)
{
	struct taker *t = arg;
	uint64_t now;

	while ((now = inv_mono_ns()) < t->end && t->n < N_GRANTS) {
		t->grants[t->n].at = now;
		t->grants[t->n].n = inv_rate_lease(t->rate, now);
		t->n += t->grants[t->n].n > 0;
	}
	return NULL;
}

static int earlier(const void *a, const void *b)
{
	const struct grant *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

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

static void the_rate_holds_with_many_threads(void **state)
{
	static struct taker takers[N_THREADS];
	static struct grant all[N_THREADS * N_GRANTS];
	static struct inv_rate rate;
	pthread_t threads[N_THREADS];
	uint64_t start = inv_mono_ns();
	uint64_t total = 0;
	unsigned n = 0, i, j;

	(void)state;
	inv_rate_init(&rate, RATE, start);
	for (i = 0; i < N_THREADS; i++) {
		takers[i].rate = &rate;
		takers[i].end = start + RUN_NS;
		assert_int_equal(
			pthread_create(&threads[i], NULL, take, &takers[i]), 0);
	}
	for (i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < N_THREADS; i++)
		for (j = 0; j < takers[i].n; j++) {
			total += takers[i].grants[j].n;
			all[n++] = takers[i].grants[j];
		}
	qsort(all, n, sizeof(all[0]), earlier);
	assert_int_equal(busiest(all, n), RATE);
	assert_true(total >= 2 * RATE);
	assert_true(total <= 3 * RATE);
	assert_true(atomic_load(&rate.reached));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rate_holds_with_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
