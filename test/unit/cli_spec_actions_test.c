/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/spec_actions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "log/filter.h"

static void functions(void **state)
{
	static const struct {
		const char *spec;
		const char *function;
	} cases[] = {
		{ "lists -> failed", "lists" },
		{ "lists:'_' -> failed", "lists" },
		{ "lists:_ -> failed", "lists" },
		{ "lists:_/2 -> failed", "lists" },
		{ "lists:seq -> failed", "lists:seq" },
		{ "lists:seq/any->failed", "lists:seq" },
		{ "lists:seq/_ -> failed", "lists:seq" },
		{ " lists : seq / 2 -> failed", "lists:seq/2" },
		{ "lists:seq/2::failed", "lists:seq/2" },
		{ "{lists, seq, 2} -> failed", "lists:seq/2" },
		{ "{lists,'_','_'} -> failed", "lists" },
		{ "m:f() -> failed", "m:f/0" },
		{ "m:f( ) -> failed", "m:f/0" },
		{ "m:f(X, {a,[B,C]}, #{k := <<1,2>>}) when X > 1 -> failed",
		  "m:f/3" },
		{ "m:f($(, $,, \"a,->(\", '->') -> failed", "m:f/4" },
		{ "'my mod':'a -> (b'/1 -> failed", "'my mod':'a -> (b'/1" },
		{ "Enum -> failed", "Enum" },
		{ "Enum._ -> failed", "Enum" },
		{ "Enum.map/2 -> failed", "Enum.map/2" },
		{ "Enum.map(_, n) :: failed", "Enum.map/2" },
		{ "M.ok?(?(, ?\\n, %{a: 1, b: 2}) -> failed", "M.ok?/3" },
		{ "M.f(a, b: 1, c: {1, 2}) -> failed", "M.f/2" },
		{ ":lists.seq(1, _) -> failed", ":lists.seq/2" },
		{ "shop_*:handle_*(_, b) -> failed", "shop_*:handle_*/2" },
		{ "Shop.*.add/2 -> failed", "Shop.*.add/2" },
		{ "app(shop) -> failed", "*" },
		{ "app ( shop ) : f_*/2 -> failed", "*:f_*/2" },
		{ "behaviour(GenServer).init(x) -> failed", "*:init/1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct inv_spec_actions a;
		struct inv_filter f;

		assert_int_equal(inv_spec_actions_find(&a, cases[i].spec, NULL),
				 0);
		if (!a.failed)
			fail_msg("%s: no action", cases[i].spec);
		assert_string_equal(a.function, cases[i].function);
		assert_int_equal(inv_filter_init(&f), 0);
		assert_int_equal(inv_filter_add_mfa(&f, a.function, NULL), 0);
		inv_filter_release(&f);
	}
}

static void actions(void **state)
{
	static const struct {
		const char *spec;
		int64_t slow_ns; /* -1: no slow */
		bool failed;
	} cases[] = {
		{ "m:f/1", -1, false },
		{ "m:f(failed) -> return", -1, false },
		{ "m:f/1 -> return;caller", -1, false },
		{ "m:failed -> caller", -1, false },
		{ "m:f/1 -> slow(50ms)", 50000000, false },
		{ "m:f/1 -> slow ( 500us ) , failed", 500000, true },
		{ "m:f(fun(X) -> X end) -> slow(2)", 2000000000, false },
		{ "M.f(_, n) -> caller;slow(1.5s)", 1500000000, false },
		{ "M.f(<<x::8>>) :: failed", -1, true },
		{ "m:f/1 -> failedx, slower", -1, false },
	};
	struct inv_spec_actions a;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(inv_spec_actions_find(&a, cases[i].spec, NULL),
				 0);
		if ((a.slow ? a.min_ns : -1) != cases[i].slow_ns ||
		    a.failed != cases[i].failed)
			fail_msg("%s: %d %d", cases[i].spec, a.slow, a.failed);
	}
	assert_int_not_equal(
		inv_spec_actions_find(&a, "m:f -> slow(1parsec)", NULL), 0);
}

/* Parses every beginning of a SPEC. The parser must not read beyond its end. */
static void cut_specs(void **state)
{
	static const char spec[] =
		"'a\\'b':\"c\\\"d\"(?\\n, $\\x, <<1>>, {[(\") -> slow(1s)";

	(void)state;
	for (size_t n = 0; n < sizeof(spec); n++) {
		struct inv_spec_actions a;
		/* memory of the exact size, so that a sanitizer sees a read
		 * after the end */
		char *text = strndup(spec, n);

		assert_non_null(text);
		(void)inv_spec_actions_find(&a, text, NULL);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(actions),
		cmocka_unit_test(cut_specs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
