/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/session.h"

static void a_session_has_its_tracer(void **state)
{
	uint32_t first = inv_session_open(3, 7);
	uint32_t second = inv_session_open(4, 8);
	uint32_t tracer;

	(void)state;
	assert_true(inv_session_tracer(3, first, &tracer));
	assert_int_equal(tracer, 7);
	assert_int_equal(inv_sessions_birth(), second);
	assert_true(inv_session_tracer(3, second, &tracer));
	assert_true(inv_session_tracer(4, second, &tracer));
	assert_int_equal(tracer, 8);
}

/* A thread reads which slots have sessions. Before it reads one of these slots,
 * another session may get the slot. The thread notices this, because a later
 * session has a greater number (its birth). */
static void a_reused_slot_belongs_to_another_session(void **state)
{
	uint32_t birth = inv_session_open(31, 7);
	uint32_t tracer;

	(void)state;
	inv_session_close(31);
	assert_int_not_equal(inv_session_open(31, 8), birth);
	assert_false(inv_session_is(31, birth));
	assert_false(inv_session_tracer(31, birth, &tracer));
	assert_true(inv_session_tracer(31, inv_sessions_birth(), &tracer));
	assert_int_equal(tracer, 8);
}

static int teardown(void **state)
{
	(void)state;
	inv_sessions_close_all();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_session_has_its_tracer, teardown),
		cmocka_unit_test_teardown(
			a_reused_slot_belongs_to_another_session, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
