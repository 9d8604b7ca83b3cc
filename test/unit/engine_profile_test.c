/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/lost.h"
#include "engine/profile.h"

#define BIT(flag) (UINT32_C(1) << INV_FLAG_##flag)

static uint32_t with(uint32_t number, uint32_t slot, uint32_t set)
{
	const struct inv_edit e = { .slot = slot, .set = set };

	return inv_profile_edit(number, &e);
}

static uint32_t without(uint32_t number, uint32_t slot, uint32_t clear)
{
	const struct inv_edit e = { .slot = slot, .clear = clear };

	return inv_profile_edit(number, &e);
}

static uint32_t traced_by(uint32_t number, uint32_t slot, uint16_t tracer)
{
	const struct inv_edit e = { .slot = slot,
				    .set = BIT(CALL),
				    .tracer = tracer };

	return inv_profile_edit(number, &e);
}

/* Returns the flags of session `slot' in a profile, as bits. */
static uint32_t flags(uint32_t number, uint32_t slot)
{
	uint32_t bits = 0;
	unsigned f;

	assert_true(number < INV_PROFILES_MAX);
	for (f = 0; f < INV_FLAGS; f++)
		bits |= (inv_profile_at(number)->sessions[f] >> slot & 1) << f;
	return bits;
}

static void the_same_flags_are_the_same_profile(void **state)
{
	uint32_t a;
	uint32_t b;

	(void)state;
	a = with(with(0, 3, BIT(CALL)), 5, BIT(SEND) | BIT(ARITY));
	b = with(with(with(0, 5, BIT(ARITY)), 3, BIT(CALL)), 5, BIT(SEND));
	assert_int_not_equal(a, 0);
	assert_int_equal(a, b);
	assert_int_equal(flags(a, 3), BIT(CALL));
	assert_int_equal(flags(a, 5), BIT(SEND) | BIT(ARITY));
	assert_int_equal(inv_profile_sessions(inv_profile_at(a)),
			 1 << 3 | 1 << 5);
}

static void cleared_flags_are_profile_0(void **state)
{
	uint32_t a = with(with(0, 0, BIT(CALL)), 31, BIT(PROCS));

	(void)state;
	assert_int_equal(without(without(a, 31, UINT32_MAX), 0, BIT(CALL)), 0);
	assert_int_equal(without(a, 7, UINT32_MAX), a);
}

static void a_tracer_is_removed_with_its_last_flag(void **state)
{
	uint32_t a = traced_by(0, 4, 77);
	const struct inv_edit as_it_is = { .slot = 4,
					   .set = BIT(SEND),
					   .tracer =
						   INV_ENGINE_TRACER_AS_IT_IS };

	(void)state;
	assert_int_not_equal(a, with(0, 4, BIT(CALL)));
	assert_int_equal(inv_profile_at(a)->tracer[4], 77);
	a = inv_profile_edit(a, &as_it_is);
	assert_int_equal(inv_profile_at(a)->tracer[4], 77);
	assert_int_equal(without(a, 4, BIT(SEND) | BIT(CALL)), 0);
}

static void a_child_has_what_is_passed_on_and_what_new_ones_have(void **state)
{
	const uint32_t all = BIT(CALL) | BIT(ON_SPAWN) | BIT(SILENT);
	uint32_t parent = with(with(0, 0, all), 1, BIT(SEND));
	uint32_t child;

	(void)state;
	child = inv_profile_child(parent);
	assert_int_equal(flags(child, 0), all);
	assert_int_equal(flags(child, 1), 0);
	/* The child inherits the flags that the parent has of session 0. So the
	 * child does not get the flags that session 0 has for new processes. Of
	 * session 2 the parent has no flags. So the child gets the flags that
	 * session 2 has for new processes. */
	inv_profile_set_new(INV_NEW_PROCESSES,
			    with(with(0, 0, BIT(GC)), 2, BIT(PROCS)));
	child = inv_profile_child(parent);
	assert_int_equal(flags(child, 0), all);
	assert_int_equal(flags(child, 2), BIT(PROCS));
	assert_int_equal(flags(inv_profile_child(0), 0), BIT(GC));
	assert_int_equal(inv_profile_after_spawn(parent), parent);
	inv_profile_set_new(INV_NEW_PROCESSES, 0);
	assert_int_equal(inv_profile_child(0), 0);
}

static void the_first_spawn_uses_both_flags_up(void **state)
{
	uint32_t parent =
		with(0, 1, BIT(CALL) | BIT(ON_FIRST_SPAWN) | BIT(ON_SPAWN));
	uint32_t only = with(0, 1, BIT(ON_FIRST_SPAWN));

	(void)state;
	assert_int_equal(flags(inv_profile_child(parent), 1), BIT(CALL));
	assert_int_equal(flags(inv_profile_after_spawn(parent), 1), BIT(CALL));
	only = inv_profile_after_spawn(only);
	assert_int_equal(flags(only, 1), 0);
	assert_int_equal(inv_profile_sessions(inv_profile_at(only)), 1U << 1);
	assert_int_equal(without(only, 1, BIT(SEND)), 0);
}

static void links_add_flags(void **state)
{
	uint32_t from = with(with(0, 0, BIT(CALL) | BIT(ON_LINK)), 1,
			     BIT(SEND) | BIT(ON_FIRST_LINK));
	uint32_t other = with(with(0, 0, BIT(PROCS)), 1, BIT(ON_LINK));
	uint32_t linked = inv_profile_linked(other, from);
	uint32_t after = inv_profile_after_link(from);

	(void)state;
	assert_int_equal(flags(linked, 0),
			 BIT(PROCS) | BIT(CALL) | BIT(ON_LINK));
	assert_int_equal(flags(linked, 1), BIT(SEND));
	assert_int_equal(flags(after, 0), BIT(CALL) | BIT(ON_LINK));
	assert_int_equal(flags(after, 1), BIT(SEND));
	assert_int_equal(inv_profile_linked(other, with(0, 3, BIT(CALL))),
			 other);
}

/* Children also inherit the tracers of their parents. */
static void tracers_are_passed_on(void **state)
{
	uint32_t p = traced_by(0, 6, 1234);
	const struct inv_edit e = { .slot = 6,
				    .set = BIT(ON_SPAWN) | BIT(ON_LINK),
				    .tracer = INV_ENGINE_TRACER_AS_IT_IS };

	(void)state;
	p = inv_profile_edit(p, &e);
	assert_int_equal(inv_profile_at(inv_profile_child(p))->tracer[6], 1234);
	assert_int_equal(inv_profile_at(inv_profile_linked(0, p))->tracer[6],
			 1234);
}

/* A profile is a combination of flags that the engine stores once. When the
 * maximum number of profiles is reached, existing profiles stay usable, and each
 * new profile that is refused is counted. */
static void the_number_of_profiles_is_limited(void **state)
{
	uint32_t first = with(0, 1, BIT(SEND));
	uint32_t n;

	(void)state;
	for (n = 0; n < 2 * INV_PROFILES_MAX; n++)
		if (traced_by(0, n >> 15, (uint16_t)(n & 0x7fff)) ==
		    INV_PROFILE_NONE)
			break;
	assert_in_range(n, INV_PROFILES_MAX - 100, INV_PROFILES_MAX);
	assert_int_not_equal(inv_shortage_count(INV_SHORTAGE_PROFILE), 0);
	assert_int_equal(with(0, 1, BIT(SEND)), first);
	assert_int_equal(without(first, 1, BIT(SEND)), 0);
}

static int setup(void **state)
{
	(void)state;
	inv_shortage_clear();
	return inv_profiles_init();
}

static int teardown(void **state)
{
	(void)state;
	inv_profiles_end();
	return 0;
}

#define PROFILE_TEST(name) \
	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROFILE_TEST(the_same_flags_are_the_same_profile),
		PROFILE_TEST(cleared_flags_are_profile_0),
		PROFILE_TEST(a_tracer_is_removed_with_its_last_flag),
		PROFILE_TEST(
			a_child_has_what_is_passed_on_and_what_new_ones_have),
		PROFILE_TEST(the_first_spawn_uses_both_flags_up),
		PROFILE_TEST(links_add_flags),
		PROFILE_TEST(tracers_are_passed_on),
		PROFILE_TEST(the_number_of_profiles_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
