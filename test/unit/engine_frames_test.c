/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/frames.h"

static struct inv_call_frame frame(uint32_t n)
{
	return (struct inv_call_frame){ .returns = n,
					.exceptions = ~n,
					.birth = 7 };
}

static void pop_is(struct inv_frames *f, uint32_t n)
{
	struct inv_call_frame got;

	assert_true(inv_frames_pop(f, &got));
	assert_int_equal(got.returns, n);
	assert_int_equal(got.exceptions, ~n);
	assert_int_equal(got.birth, 7);
}

static void frames_are_popped_in_reverse(void **state)
{
	struct inv_frames f = { 0 };
	struct inv_call_frame got;
	uint32_t n;

	(void)state;
	for (n = 0; n < 1000; n++) {
		struct inv_call_frame in = frame(n / 3);

		assert_true(inv_frames_push(&f, &in));
	}
	while (n-- > 0)
		pop_is(&f, n / 3);
	assert_false(inv_frames_pop(&f, &got));
}

static void a_recursion_takes_one_block(void **state)
{
	struct inv_frames f = { 0 };
	struct inv_call_frame in = frame(1);
	uint32_t block;
	uint32_t n;

	(void)state;
	assert_true(inv_frames_push(&f, &in));
	block = f.block;
	for (n = 0; n < 1000000; n++)
		assert_true(inv_frames_push(&f, &in));
	assert_int_equal(f.block, block);
	inv_frames_drop(&f);
	assert_int_equal(f.block, 0);
}

static void two_stacks_do_not_mix(void **state)
{
	struct inv_frames a = { 0 };
	struct inv_frames b = { 0 };
	uint32_t n;

	(void)state;
	for (n = 0; n < 100; n++) {
		struct inv_call_frame in = frame(n);

		assert_true(inv_frames_push(&a, &in));
		in = frame(n + 1000);
		assert_true(inv_frames_push(&b, &in));
	}
	inv_frames_drop(&a);
	while (n-- > 0)
		pop_is(&b, n + 1000);
}

/* When the pool is exhausted, inv_frames_push does not store a frame, but only
 * counts it, and returns false. inv_frames_pop of a counted frame returns
 * false, too. Frames that were stored before can still be popped. */
static void beyond_the_pool_frames_are_counted(void **state)
{
	struct inv_frames f = { 0 };
	struct inv_call_frame got;
	uint32_t fit = 0;
	uint32_t n;

	(void)state;
	for (;; fit++) {
		struct inv_call_frame in = frame(fit);

		if (!inv_frames_push(&f, &in))
			break;
	}
	for (n = 0; n < 10; n++) {
		struct inv_call_frame in = frame(n);

		assert_false(inv_frames_push(&f, &in));
	}
	for (n = 0; n < 11; n++)
		assert_false(inv_frames_pop(&f, &got));
	for (n = 0; n < 100; n++)
		pop_is(&f, fit - 1 - n);
	inv_frames_drop(&f);
	for (n = 0; n < fit; n++) {
		struct inv_call_frame in = frame(n);

		assert_true(inv_frames_push(&f, &in));
	}
	inv_frames_drop(&f);
}

/* inv_frames_clear only marks all stacks as empty. The next operation on a
 * stack notices the mark, and finds the stack empty. */
static void a_stack_that_missed_the_clearing_is_empty(void **state)
{
	struct inv_frames f = { 0 };
	struct inv_call_frame in = frame(1);
	struct inv_call_frame got;

	(void)state;
	assert_true(inv_frames_push(&f, &in));
	inv_frames_clear();
	assert_null(inv_frames_top(&f));
	assert_false(inv_frames_pop(&f, &got));
	assert_true(inv_frames_push(&f, &in));
	inv_frames_clear();
	assert_true(inv_frames_push(&f, &in));
	pop_is(&f, 1);
	assert_false(inv_frames_pop(&f, &got));
}

static _Atomic int clearing;

static void *call_and_return(void *arg)
{
	struct inv_frames f = { 0 };
	struct inv_call_frame got;
	uint32_t n;

	while (atomic_load(&clearing)) {
		for (n = 0; n < 40; n++) {
			struct inv_call_frame in = frame(n);

			(void)inv_frames_push(&f, &in);
		}
		while (inv_frames_top(&f) && inv_frames_pop(&f, &got))
			;
		inv_frames_drop(&f);
	}
	return arg;
}

/* When a new engine server clears the stacks, processes that were traced by the
 * previous server may still return from calls. */
static void clearing_does_no_harm_to_threads_that_push_and_pop(void **state)
{
	pthread_t thread[3];
	int i;

	(void)state;
	atomic_store(&clearing, 1);
	for (i = 0; i < 3; i++)
		assert_int_equal(0, pthread_create(&thread[i], NULL,
						   call_and_return, NULL));
	for (i = 0; i < 20000; i++)
		inv_frames_clear();
	atomic_store(&clearing, 0);
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
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
		cmocka_unit_test(frames_are_popped_in_reverse),
		cmocka_unit_test(a_recursion_takes_one_block),
		cmocka_unit_test(two_stacks_do_not_mix),
		cmocka_unit_test(a_stack_that_missed_the_clearing_is_empty),
		cmocka_unit_test(
			clearing_does_no_harm_to_threads_that_push_and_pop),
		cmocka_unit_test(beyond_the_pool_frames_are_counted),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
