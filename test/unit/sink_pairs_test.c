/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* In the tests c(process, function, time) is a call, and r(process,
 * function, time, duration) a return. The duration is -1 if no call is known. */
static struct inv_pairs p;

static void c(uint64_t pid, uint64_t mfa, int64_t ts)
{
	inv_pairs_call(&p, pid, mfa, ts);
}

static void r(uint64_t pid, uint64_t mfa, int64_t ts, int64_t took)
{
	int64_t got = -1;

	assert_int_equal(inv_pairs_return(&p, pid, mfa, ts, &got), took >= 0);
	assert_int_equal(got, took);
}

static int setup(void **state)
{
	(void)state;
	return inv_pairs_init(&p);
}

static int teardown(void **state)
{
	(void)state;
	inv_pairs_release(&p);
	return 0;
}

static void the_innermost_call_returns_first(void **state)
{
	(void)state;
	c(1, 7, 10);
	c(1, 7, 20);
	c(1, 8, 30);
	r(1, 8, 31, 1);
	r(1, 7, 40, 20);
	r(1, 7, 50, 40);
	r(1, 7, 60, -1);
}

static void calls_that_never_return_are_forgotten(void **state)
{
	(void)state;
	c(1, 7, 10);
	c(1, 8, 20); /* a call without return_trace */
	r(1, 7, 30, 20);
	r(1, 8, 40, -1);
}

static void processes_do_not_disturb_each_other(void **state)
{
	(void)state;
	c(1, 7, 10);
	c(2, 7, 20);
	r(1, 7, 30, 20);
	r(2, 7, 31, 11);
}

static void deep_recursion_keeps_the_last_calls(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		c(1, 7, i);
	for (int i = 0; i < (int)INV_PAIRS_DEPTH; i++)
		r(1, 7, 200, 200 - (99 - i));
	r(1, 7, 200, -1);
}

static void a_process_in_a_reused_slot_has_no_calls(void **state)
{
	(void)state;
	c(1, 7, 10);
	c(1 + INV_PAIRS_PROCESSES, 7, 20);
	r(1, 7, 30, -1);
	r(1 + INV_PAIRS_PROCESSES, 7, 30, 10);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_innermost_call_returns_first),
		TEST(calls_that_never_return_are_forgotten),
		TEST(processes_do_not_disturb_each_other),
		TEST(deep_recursion_keeps_the_last_calls),
		TEST(a_process_in_a_reused_slot_has_no_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
