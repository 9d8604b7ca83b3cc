/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/spans.h"

#define PLACES 8u

/* The word that the VM uses for the pid with the number n. */
#define PID(n) ((uint64_t)(n) << 4 | 3)

/* The key under which the calls of a function are counted. */
#define KEY(function) ((function) + 1000u)

static struct inv_spans *s;
static uint32_t lost[10]; /* for each function: how many calls were removed
			     without an end */
static uint64_t lost_of;  /* the process of the call that was removed last */
static uint32_t gone;	  /* the function whose ends will not be reported any
			     more */

static void is_lost(void *arg, uint64_t process,
		    const struct inv_spans_call *span)
{
	(void)arg;
	assert_int_equal(span->key, KEY(span->function));
	lost[span->function]++;
	lost_of = process;
}

static bool is_gone(void *arg, uint32_t function)
{
	(void)arg;
	return function == gone;
}

static const struct inv_spans_use use = { NULL, is_lost, is_gone };

static bool begin(uint32_t pid, uint32_t function, uint64_t ns)
{
	const struct inv_spans_call span = { ns, function, KEY(function) };

	return inv_spans_begin(s, &use, PID(pid), &span);
}

/* Ends a call. Returns the time at which this call began, or 0 if no such call
 * is open. */
static uint64_t end(uint32_t pid, uint32_t function)
{
	struct inv_spans_call span;

	if (!inv_spans_end(s, &use, PID(pid), function, &span))
		return 0;
	assert_int_equal(span.key, KEY(function));
	return span.ns;
}

static int set_up(void **state)
{
	(void)state;
	s = inv_spans_make(PLACES);
	for (unsigned i = 0; i < 10; i++)
		lost[i] = 0;
	gone = UINT32_MAX;
	lost_of = 0;
	return s && inv_spans_depth(s) == INV_SPANS_DEPTH ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	inv_spans_free(s);
	return 0;
}

static void calls_nest(void **state)
{
	(void)state;
	assert_true(begin(1, 7, 100));
	assert_true(begin(1, 8, 110));
	assert_true(begin(2, 7, 120));
	assert_int_equal(end(1, 8), 110);
	assert_int_equal(end(1, 7), 100);
	assert_int_equal(end(1, 7), 0);
	assert_int_equal(end(2, 7), 120);
	assert_int_equal(lost[7] + lost[8], 0);
}

/* Begins as many calls as the stack has places for, and ends all of them. */
static void recursion(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= INV_SPANS_DEPTH; i++)
		assert_true(begin(3, 1, i));
	assert_false(begin(3, 1, 5000));
	assert_false(begin(3, 2, 5001));
	assert_int_equal(end(3, 2), 0);
	assert_int_equal(end(3, 1), 0);
	for (uint32_t i = INV_SPANS_DEPTH; i > 0; i--)
		assert_int_equal(end(3, 1), i);
	assert_int_equal(end(3, 1), 0);
	assert_int_equal(lost[1] + lost[2], 0);
}

/* When an outer call ends, the calls inside it are removed. Their ends are
 * missing, so they count as lost. */
static void ends_are_missing(void **state)
{
	(void)state;
	(void)begin(1, 4, 10);
	for (uint32_t i = 0; i < 80; i++)
		(void)begin(1, 5, 20 + i);
	(void)begin(1, 6, 200);
	assert_int_equal(end(1, 4), 10);
	assert_int_equal(lost[5], 80);
	assert_int_equal(lost[6], 1);
	assert_int_equal(lost[4], 0);
	assert_int_equal(end(1, 5), 0);
}

/* A process has died. A new process with the same place in the table takes over
 * the stack of the dead process. */
static void a_process_has_died(void **state)
{
	(void)state;
	(void)begin(1, 4, 10);
	(void)begin(1, 5, 11);
	assert_int_equal(end(1 + PLACES, 5), 0);
	assert_true(begin(1 + PLACES, 4, 50));
	assert_int_equal(lost[4], 1);
	assert_int_equal(lost[5], 1);
	assert_int_equal(lost_of, PID(1));
	assert_int_equal(end(1, 4), 0);
	assert_int_equal(end(1 + PLACES, 4), 50);
}

/* If a stack is full, calls are removed from it: those of functions whose ends
 * will not be reported. */
static void a_function_is_released(void **state)
{
	(void)state;
	(void)begin(1, 4, 10);
	for (uint32_t i = 0; i < INV_SPANS_DEPTH - 2; i++)
		(void)begin(1, 5, 20);
	(void)begin(1, 6, 30);
	assert_false(begin(1, 4, 31));
	gone = 5;
	assert_true(begin(1, 4, 40));
	assert_int_equal(lost[5], INV_SPANS_DEPTH - 2);
	assert_int_equal(end(1, 4), 40);
	assert_int_equal(end(1, 6), 30);
	assert_int_equal(end(1, 4), 10);
	assert_int_equal(lost[4] + lost[6], 0);
}

static void what_is_open_at_the_end(void **state)
{
	uint64_t at = 0;
	unsigned turns = 1;

	(void)state;
	(void)begin(0, 1, 1);
	(void)begin(5, 2, 1);
	(void)begin(5, 2, 1);
	(void)begin(7, 3, 1);
	while (inv_spans_take(s, &use, &at, 3))
		turns++;
	assert_int_equal(turns, 3);
	assert_int_equal(lost[1], 1);
	assert_int_equal(lost[2], 2);
	assert_int_equal(lost[3], 1);
	assert_int_equal(end(5, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_nest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(recursion, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_are_missing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_process_has_died, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_function_is_released, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_open_at_the_end, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
