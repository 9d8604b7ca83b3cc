/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/open_calls.h"

#define LIMIT 100

static struct inv_open_calls *o;

/* Returns a word of the form that the VM uses for an atom. pid() does the same
 * for a pid. */
static uint64_t atom(uint32_t number)
{
	return (uint64_t)number << 6 | 11;
}

static uint64_t pid(uint32_t number)
{
	return (uint64_t)number << 4 | 3;
}

static struct inv_called called(uint32_t number)
{
	return (struct inv_called){ atom(1), atom(number), 2 };
}

static uint32_t function(uint32_t number)
{
	struct inv_called f = called(number);

	assert_true(inv_open_calls_tell(o, &f, INV_ENDS_ALL));
	return inv_open_calls_find(o, &f);
}

static void begin(uint32_t number, uint32_t process, int times)
{
	uint32_t f = function(number);

	for (; times > 0; times--)
		assert_false(inv_open_calls_begin(o, f, pid(process)));
}

static void end(uint32_t number, uint32_t process, int times)
{
	uint32_t f = function(number);

	for (; times > 0; times--)
		assert_true(inv_open_calls_end(o, f, pid(process)));
}

static bool holds(uint32_t process)
{
	return inv_open_calls_hold(o, pid(process));
}

/* Makes the call with which the process reaches the limit. Then the tracer no
 * longer records the ends of one function. Returns this function. */
static uint32_t reach(uint32_t number, uint32_t process)
{
	struct inv_stopped_call s;
	uint32_t at = 0;

	assert_true(inv_open_calls_begin(o, function(number), pid(process)));
	assert_true(holds(process));
	assert_true(inv_open_calls_stopped(o, &at, &s));
	assert_int_equal(s.process, pid(process));
	assert_int_equal(s.open, LIMIT);
	assert_int_equal(s.function.module, atom(1));
	assert_int_equal(s.function.arity, 2);
	assert_false(inv_open_calls_stopped(o, &at, &s));
	return (uint32_t)(s.function.name >> 6);
}

static void release(uint32_t number)
{
	struct inv_called f = called(number);
	struct inv_stopped_call s;
	uint32_t at = 0;

	inv_open_calls_release(o, &f);
	assert_false(inv_open_calls_stopped(o, &at, &s));
}

static int make(void **state)
{
	(void)state;
	o = inv_open_calls_make(LIMIT, 1000);
	return o ? 0 : -1;
}

static int discard(void **state)
{
	(void)state;
	inv_open_calls_free(o);
	return 0;
}

static void a_process_below_the_limit_is_not_held(void **state)
{
	(void)state;
	begin(5, 1, LIMIT - 1);
	begin(5, 2, LIMIT - 1);
	assert_false(holds(1));
	end(5, 1, LIMIT - 1);
	begin(5, 1, LIMIT - 1);
	assert_false(holds(1));
}

static void a_process_at_the_limit_is_held_until_release(void **state)
{
	uint32_t f = function(5);

	(void)state;
	begin(5, 1, LIMIT - 1);
	assert_int_equal(reach(5, 1), 5);
	assert_false(holds(2));
	/* The process has reached the limit, so the ends of function 5 are no
	 * longer recorded, in any process. */
	assert_false(inv_open_calls_end(o, f, pid(2)));
	release(5);
	assert_false(holds(1));
	assert_false(inv_open_calls_begin(o, f, pid(1)));
	assert_false(inv_open_calls_end(o, f, pid(1)));
	/* The counts of open calls of the other functions are 0 again. */
	begin(6, 1, LIMIT - 1);
	assert_int_equal(reach(6, 1), 6);
}

static void the_function_with_most_calls_is_stopped(void **state)
{
	(void)state;
	begin(5, 1, LIMIT / 2);
	begin(6, 1, LIMIT / 4);
	begin(7, 1, LIMIT / 4 - 1);
	assert_int_equal(reach(7, 1), 5);
	release(5);
	assert_false(holds(1));
	begin(6, 1, LIMIT / 2 - 1);
	assert_int_equal(reach(7, 1), 6);
}

/* Two processes are held (their calls are left out) because of the same
 * function. When this function is released, both continue. */
static void two_processes_are_held_for_one_function(void **state)
{
	uint32_t f = function(5);

	(void)state;
	begin(5, 1, LIMIT - 1);
	begin(5, 2, LIMIT - 1);
	assert_int_equal(reach(5, 1), 5);
	assert_true(inv_open_calls_begin(o, f, pid(2)));
	assert_true(holds(2));
	release(5);
	assert_false(holds(1));
	assert_false(holds(2));
}

/* For each process, the table has separate counts of open calls for only a few
 * functions. */
static void many_functions(void **state)
{
	struct inv_stopped_call s;
	uint32_t at = 0;
	uint32_t i;

	(void)state;
	for (i = 0; i < LIMIT - 1; i++)
		begin(10 + i, 1, 1);
	for (i = 0; i < LIMIT - 1; i++)
		end(10 + i, 1, 1);
	for (i = 0; i < LIMIT - 1; i++)
		begin(10 + i, 1, 1);
	assert_int_equal(reach(500, 1), 500);
	release(500);
	assert_false(holds(1));
	/* After the release, a call still counts as open only if its function
	 * has a separate count. */
	begin(10, 1, LIMIT / 2);
	assert_false(holds(1));
	assert_false(inv_open_calls_stopped(o, &at, &s));
}

/* A dead process had an entry in the table, which a new process gets. The new
 * process begins without open calls. */
static void a_new_process_begins_with_none(void **state)
{
	(void)state;
	begin(5, 1, LIMIT - 1);
	assert_int_equal(reach(5, 1), 5);
	assert_false(holds(1 + 1024));
	begin(6, 1 + 1024, LIMIT - 1);
	assert_false(holds(1 + 1024));
	release(5);
	assert_int_equal(reach(6, 1 + 1024), 6);
}

static void ends_without_a_call_do_not_count(void **state)
{
	(void)state;
	end(5, 1, 10);
	begin(5, 1, LIMIT - 1);
	end(6, 1, 10);
	assert_int_equal(reach(5, 1), 5);
}

static void an_unknown_function(void **state)
{
	struct inv_called f = called(5);

	(void)state;
	assert_int_equal(inv_open_calls_find(o, &f), INV_OPEN_CALLS_PLACES);
	assert_true(inv_open_calls_tell(o, &f, INV_ENDS_NONE));
	assert_int_equal(inv_open_calls_find(o, &f), INV_OPEN_CALLS_PLACES);
	assert_true(inv_open_calls_tell(o, &f, INV_ENDS_MARKED));
	assert_int_equal(inv_open_function_ends(inv_open_function_at(
				 o, inv_open_calls_find(o, &f))),
			 INV_ENDS_MARKED);
	f.arity = 3;
	assert_int_equal(inv_open_calls_find(o, &f), INV_OPEN_CALLS_PLACES);
}

static void a_full_table_takes_no_more_functions(void **state)
{
	struct inv_called f = { atom(3), 0, 1 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 2 * INV_OPEN_CALLS_FUNCTIONS; i++) {
		f.name = atom(i + 1);
		if (!inv_open_calls_tell(o, &f, INV_ENDS_ALL))
			break;
	}
	assert_in_range(i, INV_OPEN_CALLS_FUNCTIONS / 2,
			INV_OPEN_CALLS_FUNCTIONS);
	assert_int_equal(inv_open_calls_find(o, &f), INV_OPEN_CALLS_PLACES);
	f.name = atom(1);
	assert_int_not_equal(inv_open_calls_find(o, &f), INV_OPEN_CALLS_PLACES);
}

/* The end of a call is recorded if the call was recorded. Calls end in the
 * reverse order, so the innermost call ends first. */
static void wanted_calls_have_wanted_ends(void **state)
{
	const uint32_t n = LIMIT - 1;
	uint32_t i;

	(void)state;
	assert_false(inv_open_calls_wanted(o, pid(5)));
	for (i = 0; i < n; i++) {
		begin(1, 5, 1);
		inv_open_calls_want(o, pid(5), i % 3 == 0);
		begin(1, 6, 1);
		inv_open_calls_want(o, pid(6), true);
	}
	for (i = n; i-- > 0;) {
		assert_int_equal(inv_open_calls_wanted(o, pid(5)), i % 3 == 0);
		assert_true(inv_open_calls_wanted(o, pid(6)));
		end(1, 5, 1);
		end(1, 6, 1);
	}
	assert_false(inv_open_calls_wanted(o, pid(6)));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, discard)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_below_the_limit_is_not_held),
		TEST(a_process_at_the_limit_is_held_until_release),
		TEST(the_function_with_most_calls_is_stopped),
		TEST(two_processes_are_held_for_one_function),
		TEST(many_functions),
		TEST(a_new_process_begins_with_none),
		TEST(ends_without_a_call_do_not_count),
		TEST(an_unknown_function),
		TEST(a_full_table_takes_no_more_functions),
		TEST(wanted_calls_have_wanted_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
