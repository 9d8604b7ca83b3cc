/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/chain.h"

enum function {
	NONE,
	TOP,
	MIDDLE,
	BOTTOM
};

#define A 1U
#define B 2U
#define BOTH (A | B)

static void a_return_belongs_to_its_session(void **state)
{
	struct inv_frames c = { 0 };

	(void)state;
	inv_chain_call(&c, MIDDLE, TOP, A);
	inv_chain_call(&c, BOTTOM, MIDDLE, B);
	assert_int_equal(inv_chain_return(&c, MIDDLE, BOTH), B);
	assert_int_equal(inv_chain_return(&c, TOP, BOTH), A);
}

static void tail_calls_return_once(void **state)
{
	struct inv_frames c = { 0 };

	(void)state;
	inv_chain_call(&c, MIDDLE, TOP, A);
	inv_chain_call(&c, BOTTOM, TOP, B);
	assert_int_equal(inv_chain_return(&c, TOP, BOTH), BOTH);
	assert_int_equal(c.block, 0);
}

static void a_loop_takes_no_space(void **state)
{
	struct inv_frames c = { 0 };
	unsigned n;

	(void)state;
	for (n = 0; n < 1000; n++)
		inv_chain_call(&c, BOTTOM, TOP, A);
	assert_int_equal(inv_chain_return(&c, TOP, BOTH), A);
	assert_int_equal(c.block, 0);
}

static void recursion_returns_often(void **state)
{
	struct inv_frames c = { 0 };
	unsigned n;

	(void)state;
	inv_chain_call(&c, BOTTOM, TOP, A);
	for (n = 0; n < 1000; n++)
		inv_chain_call(&c, BOTTOM, BOTTOM, n % 2 ? A : B);
	while (n-- > 0)
		assert_int_equal(inv_chain_return(&c, BOTTOM, BOTH),
				 n % 2 ? A : B);
	assert_int_equal(inv_chain_return(&c, TOP, BOTH), A);
}

static void an_exception_removes_several_frames(void **state)
{
	struct inv_frames c = { 0 };

	(void)state;
	inv_chain_call(&c, MIDDLE, TOP, A);
	inv_chain_call(&c, BOTTOM, MIDDLE, B);
	assert_int_equal(inv_chain_return(&c, TOP, BOTH), BOTH);
	assert_int_equal(c.block, 0);
}

static void a_function_that_catches_still_returns(void **state)
{
	struct inv_frames c = { 0 };

	(void)state;
	inv_chain_call(&c, MIDDLE, TOP, A);
	inv_chain_call(&c, BOTTOM, NONE, B);
	assert_int_equal(inv_chain_return(&c, MIDDLE, BOTH), B);
	assert_int_equal(inv_chain_return(&c, TOP, BOTH), A);
}

static void unknown_returns_are_for_all_sessions(void **state)
{
	struct inv_frames c = { 0 };

	(void)state;
	assert_int_equal(inv_chain_return(&c, TOP, BOTH), BOTH);
}

static int setup(void **state)
{
	(void)state;
	return inv_frames_init();
}

static int teardown(void **state)
{
	(void)state;
	inv_frames_end();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_return_belongs_to_its_session),
		cmocka_unit_test(tail_calls_return_once),
		cmocka_unit_test(a_loop_takes_no_space),
		cmocka_unit_test(recursion_returns_often),
		cmocka_unit_test(an_exception_removes_several_frames),
		cmocka_unit_test(a_function_that_catches_still_returns),
		cmocka_unit_test(unknown_returns_are_for_all_sessions),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
