/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/starters.h"

#define PROCESSES 1024u

/* The word that the VM uses for the local pid with the number n. */
#define PID(n) ((uint64_t)(n) << 4 | 3)

static struct inv_starters *s;

static int setup(void **state)
{
	(void)state;
	s = inv_starters_make(PROCESSES);
	return s ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	inv_starters_free(s);
	return 0;
}

static void a_process_is_done_when_its_call_has_ended(void **state)
{
	(void)state;
	assert_false(inv_starters_done(s, PID(1)));
	inv_starters_begin(s, PID(1));
	assert_false(inv_starters_done(s, PID(1)));
	inv_starters_end(s, PID(1));
	assert_true(inv_starters_done(s, PID(1)));
	assert_false(inv_starters_done(s, PID(2)));
	inv_starters_begin(s, PID(1));
	assert_false(inv_starters_done(s, PID(1)));
}

static void inner_calls_belong_to_the_outermost(void **state)
{
	(void)state;
	inv_starters_begin(s, PID(1));
	inv_starters_go_on(s, PID(1));
	inv_starters_end(s, PID(1));
	assert_false(inv_starters_done(s, PID(1)));
	inv_starters_end(s, PID(1));
	assert_true(inv_starters_done(s, PID(1)));
}

static void a_received_token_is_not_stale(void **state)
{
	(void)state;
	inv_starters_begin(s, PID(1));
	/* Inside the call, the process receives a message with a token: the
	 * answer to a message that it sent. */
	inv_starters_received(s, PID(1));
	inv_starters_end(s, PID(1));
	assert_true(inv_starters_done(s, PID(1)));
	inv_starters_received(s, PID(1));
	assert_false(inv_starters_done(s, PID(1)));
	/* A process receives a message with a token, and then calls a function
	 * that begins requests. This call continues the request of the message.
	 * When the call has ended, the next such call begins a new request. */
	inv_starters_go_on(s, PID(1));
	inv_starters_end(s, PID(1));
	assert_true(inv_starters_done(s, PID(1)));
}

static void a_process_that_only_continues_is_never_done(void **state)
{
	(void)state;
	inv_starters_go_on(s, PID(1));
	inv_starters_end(s, PID(1));
	assert_false(inv_starters_done(s, PID(1)));
	/* There is an end without a call, because the call began before the
	 * patterns were set. */
	inv_starters_end(s, PID(1));
	inv_starters_begin(s, PID(1));
	inv_starters_end(s, PID(1));
	assert_true(inv_starters_done(s, PID(1)));
	inv_starters_forget(s, PID(1));
	assert_false(inv_starters_done(s, PID(1)));
}

static void a_process_leaves_until_it_begins_or_receives(void **state)
{
	(void)state;
	inv_starters_begin(s, PID(1));
	inv_starters_end(s, PID(1));
	assert_false(inv_starters_has_left(s, PID(1)));
	inv_starters_leave(s, PID(1));
	assert_true(inv_starters_has_left(s, PID(1)));
	assert_true(inv_starters_done(s, PID(1)));
	inv_starters_received(s, PID(1));
	assert_false(inv_starters_has_left(s, PID(1)));
	inv_starters_leave(s, PID(1));
	inv_starters_begin(s, PID(1));
	assert_false(inv_starters_has_left(s, PID(1)));
}

/* In a loop by tail calls, no call ends. The frames of the calls are counted
 * for each process, whether the calls begin requests or not. */
static void frames_are_counted_for_all_processes(void **state)
{
	unsigned i;

	(void)state;
	for (i = 1; i < INV_STARTERS_FRAMES; i++) {
		inv_starters_begin(s, PID(1));
		inv_starters_go_on(s, PID(2));
	}
	assert_false(inv_starters_too_deep(s, PID(1)));
	assert_false(inv_starters_too_deep(s, PID(2)));
	inv_starters_begin(s, PID(1));
	inv_starters_go_on(s, PID(2));
	assert_true(inv_starters_too_deep(s, PID(1)));
	assert_true(inv_starters_too_deep(s, PID(2)));
	inv_starters_end(s, PID(1));
	assert_false(inv_starters_too_deep(s, PID(1)));
	assert_false(inv_starters_too_deep(s, PID(3)));
}

static void a_new_process_takes_over_the_place(void **state)
{
	(void)state;
	inv_starters_begin(s, PID(1));
	inv_starters_end(s, PID(1));
	inv_starters_received(s, PID(1 + PROCESSES));
	assert_false(inv_starters_done(s, PID(1 + PROCESSES)));
	assert_true(inv_starters_done(s, PID(1)));
	inv_starters_go_on(s, PID(1 + PROCESSES));
	assert_false(inv_starters_done(s, PID(1)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_is_done_when_its_call_has_ended),
		TEST(inner_calls_belong_to_the_outermost),
		TEST(a_received_token_is_not_stale),
		TEST(a_process_that_only_continues_is_never_done),
		TEST(a_process_leaves_until_it_begins_or_receives),
		TEST(frames_are_counted_for_all_processes),
		TEST(a_new_process_takes_over_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
