/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/tracee.h"

#define BIT(flag) (UINT32_C(1) << INV_FLAG_##flag)
#define PLACES 16

/* Returns a word of the form that the VM uses for a pid or port. The engine's
 * tables have 16 entries here. */
static ERL_NIF_TERM pid(uint32_t number)
{
	return (ERL_NIF_TERM)number << 4 | 3;
}

static ERL_NIF_TERM port(uint32_t number)
{
	return (ERL_NIF_TERM)number << 4 | 7;
}

static uint32_t change(ERL_NIF_TERM id, uint32_t clear, uint32_t set)
{
	const struct inv_edit e = { .slot = 2, .clear = clear, .set = set };

	return inv_tracee_edit(id, &e);
}

static void assert_timed(ERL_NIF_TERM id, uint32_t timed, uint32_t calls)
{
	uint32_t is_timed;
	uint32_t is_called;

	assert_true(inv_tracee_timed(id, &is_timed, &is_called));
	assert_int_equal(is_timed, timed);
	assert_int_equal(is_called, calls);
}

static void an_entry_belongs_to_one_process(void **state)
{
	uint32_t first = change(pid(5), 0, BIT(CALL));

	(void)state;
	assert_int_not_equal(first, 0);
	assert_int_equal(inv_tracee_profile_of(pid(5)), first);
	/* Process 5 has died, and another process now has its slot in the VM's
	 * process table. */
	assert_int_equal(inv_tracee_profile_of(pid(5 + PLACES)), 0);
	assert_int_not_equal(change(pid(5 + PLACES), 0, BIT(SEND)), first);
	assert_null(inv_tracee_find(pid(5)));
}

static void ports_have_a_table_of_their_own(void **state)
{
	(void)state;
	assert_true(inv_tracee_is_port(port(5)));
	assert_false(inv_tracee_is_port(pid(5)));
	assert_int_not_equal(change(port(5), 0, BIT(PORTS)), 0);
	assert_int_not_equal(change(pid(5), 0, BIT(PROCS)), 0);
	assert_int_not_equal(inv_tracee_profile_of(pid(5)),
			     inv_tracee_profile_of(port(5)));
}

/* If a process has no flags, clearing its flags does not take over an entry of
 * the table from another process. */
static void clearing_does_not_take_over_an_entry(void **state)
{
	uint32_t first = change(pid(5), 0, BIT(CALL));

	(void)state;
	assert_int_equal(change(pid(5 + PLACES), UINT32_MAX, 0), 0);
	assert_int_equal(inv_tracee_profile_of(pid(5)), first);
}

static void a_new_process_has_no_flags_of_a_dead_one(void **state)
{
	(void)state;
	(void)change(pid(5), 0, BIT(CALL));
	inv_tracee_born(pid(5), 0, 0);
	assert_int_equal(inv_tracee_profile_of(pid(5)), 0);
	assert_int_equal(inv_tracee_expected(pid(5)), 0);
	inv_tracee_born(pid(5), 0, 4);
	assert_int_equal(inv_tracee_expected(pid(5)), 4);
}

static void a_process_is_marked_once(void **state)
{
	ERL_NIF_TERM ids[4];

	(void)state;
	(void)change(pid(5), 0, BIT(CALL));
	(void)change(pid(6), 0, BIT(CALL));
	assert_true(inv_tracee_mark(inv_tracee_find(pid(5))));
	assert_false(inv_tracee_mark(inv_tracee_find(pid(5))));
	assert_false(inv_tracee_mark(inv_tracee_find(pid(6))));
	assert_int_equal(inv_tracees_take_marked(ids, 4), 2);
	assert_int_equal(ids[0], pid(5));
	assert_int_equal(ids[1], pid(6));
	assert_int_equal(inv_tracees_take_marked(ids, 4), 0);
	assert_true(inv_tracee_mark(inv_tracee_find(pid(6))));
}

/* inv_tracees_take_marked returns as many marked processes as fit into the
 * caller's array. The others stay marked until the next call. */
static void processes_that_did_not_fit_stay_marked(void **state)
{
	ERL_NIF_TERM ids[4];

	(void)state;
	(void)change(pid(5), 0, BIT(CALL));
	(void)change(pid(6), 0, BIT(CALL));
	(void)inv_tracee_mark(inv_tracee_find(pid(5)));
	(void)inv_tracee_mark(inv_tracee_find(pid(6)));
	assert_int_equal(inv_tracees_take_marked(ids, 1), 1);
	assert_false(inv_tracee_mark(inv_tracee_find(pid(5))));
	assert_int_equal(inv_tracees_take_marked(ids, 4), 2);
}

/* Only the thread that runs a process accesses the process's frames. If the
 * flag `call' was cleared, the thread drops the older frames at its next
 * access. */
static void frames_are_dropped_when_no_session_traces_calls(void **state)
{
	const struct inv_call_frame in = { .returns = 4 };
	struct inv_call_frame out;
	struct inv_tracee *t;

	(void)state;
	(void)change(pid(5), 0, BIT(CALL) | BIT(SEND));
	t = inv_tracee_find(pid(5));
	assert_true(inv_frames_push(inv_tracee_frames(t), &in));
	(void)change(pid(5), BIT(SEND), 0);
	assert_true(inv_frames_pop(inv_tracee_frames(t), &out));
	assert_true(inv_frames_push(inv_tracee_frames(t), &in));
	(void)change(pid(5), BIT(CALL), BIT(SEND));
	(void)change(pid(5), 0, BIT(CALL));
	assert_false(inv_frames_pop(inv_tracee_frames(t), &out));
}

/* Frames stay while at least one session has the flag `return_to' on the
 * process. When the last session has cleared the flag, the frames are
 * dropped. */
static void frames_are_dropped_when_no_session_has_return_to(void **state)
{
	const struct inv_call_frame in = { .returns = 4 };
	struct inv_call_frame out;
	struct inv_tracee *t;

	(void)state;
	(void)change(pid(5), 0, BIT(CALL) | BIT(RETURN_TO));
	t = inv_tracee_find(pid(5));
	assert_true(inv_frames_push(inv_tracee_chain(t), &in));
	(void)change(pid(5), BIT(CALL), 0);
	(void)inv_tracee_frames(t);
	assert_true(inv_frames_pop(inv_tracee_chain(t), &out));
	assert_true(inv_frames_push(inv_tracee_chain(t), &in));
	(void)change(pid(5), BIT(RETURN_TO), 0);
	(void)change(pid(5), 0, BIT(RETURN_TO));
	assert_false(inv_frames_pop(inv_tracee_chain(t), &out));
}

/* A session has ended, and inv_tracees_vacate removes it from the table: its
 * flags of processes and ports, the mark of processes that had its flag `call',
 * and the note of processes that may get its flags by a link. */
static void a_new_session_has_no_flags_of_an_ended_one(void **state)
{
	const struct inv_edit other = { .slot = 3, .set = BIT(CALL) };
	uint32_t others = inv_tracee_edit(pid(6), &other);

	(void)state;
	(void)change(pid(5), 0, BIT(CALL));
	(void)change(pid(6), 0, BIT(CALL) | BIT(PROCS));
	(void)change(port(7), 0, BIT(PORTS));
	inv_tracee_born(pid(8), 0, 4);
	assert_int_equal(inv_tracees_vacate(2, 0, PLACES), PLACES);
	assert_int_equal(inv_tracees_vacate(2, PLACES, PLACES + 1), 0);
	assert_int_equal(inv_tracee_profile_of(pid(5)), 0);
	assert_int_equal(inv_tracee_profile_of(pid(6)), others);
	assert_int_equal(inv_tracee_profile_of(port(7)), 0);
	assert_int_equal(inv_tracee_expected(pid(8)), 0);
	assert_timed(pid(5), 0, 0);
	assert_timed(pid(6), 8, 8);
}

/* The first session that sets the flag `call' gets the process's call times at
 * once. A later change of flags does not change which sessions get the times:
 * the server must read the VM's counters first, and then calls
 * inv_tracee_set_timed. */
static void times_stay_attributed_until_the_server_has_read_them(void **state)
{
	const struct inv_edit other = { .slot = 3, .set = BIT(CALL) };

	(void)state;
	assert_false(inv_tracee_set_timed(pid(5), 4));
	(void)change(pid(5), 0, BIT(SEND));
	assert_timed(pid(5), 0, 0);
	(void)change(pid(5), 0, BIT(CALL));
	assert_timed(pid(5), 4, 4);
	(void)inv_tracee_edit(pid(5), &other);
	assert_timed(pid(5), 4, 12);
	assert_true(inv_tracee_set_timed(pid(5), 12));
	/* The server passes only session 2 (the mask is 4). Session 3 is kept,
	 * too, because it has the flag: a callback may have set the flag after
	 * the server read the flags. */
	assert_true(inv_tracee_set_timed(pid(5), 4));
	assert_timed(pid(5), 12, 12);
	(void)change(pid(5), BIT(CALL), 0);
	assert_timed(pid(5), 12, 8);
}

/* A new process gets the entry of a dead process. The times of the new process
 * go only to sessions whose flag `call' the process has from the start, and not
 * to the sessions that got the times of the dead process. */
static void a_new_process_has_times_of_its_own(void **state)
{
	uint32_t calls = change(pid(5), 0, BIT(CALL));

	(void)state;
	inv_tracee_born(pid(5 + PLACES), 0, 0);
	assert_timed(pid(5 + PLACES), 0, 0);
	inv_tracee_born(pid(5), calls, 0);
	assert_timed(pid(5), 4, 4);
}

/* A callback that has set the flag `call' for a session calls inv_tracee_time,
 * so that this session gets the process's call times at once. Sessions that got
 * the times before still get them. */
static void a_callback_only_adds_sessions(void **state)
{
	const struct inv_edit other = { .slot = 3, .set = BIT(CALL) };

	(void)state;
	(void)change(pid(5), 0, BIT(CALL));
	(void)change(pid(5), BIT(CALL), 0);
	(void)inv_tracee_edit(pid(5), &other);
	inv_tracee_time(inv_tracee_find(pid(5)));
	assert_timed(pid(5), 12, 8);
}

static int setup(void **state)
{
	(void)state;
	return inv_profiles_init() || inv_tracees_init(PLACES, PLACES);
}

static int teardown(void **state)
{
	(void)state;
	inv_tracees_end();
	inv_profiles_end();
	return 0;
}

#define TRACEE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TRACEE_TEST(an_entry_belongs_to_one_process),
		TRACEE_TEST(ports_have_a_table_of_their_own),
		TRACEE_TEST(clearing_does_not_take_over_an_entry),
		TRACEE_TEST(a_process_is_marked_once),
		TRACEE_TEST(processes_that_did_not_fit_stay_marked),
		TRACEE_TEST(a_new_process_has_no_flags_of_a_dead_one),
		TRACEE_TEST(a_new_session_has_no_flags_of_an_ended_one),
		TRACEE_TEST(frames_are_dropped_when_no_session_traces_calls),
		TRACEE_TEST(frames_are_dropped_when_no_session_has_return_to),
		TRACEE_TEST(
			times_stay_attributed_until_the_server_has_read_them),
		TRACEE_TEST(a_new_process_has_times_of_its_own),
		TRACEE_TEST(a_callback_only_adds_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
