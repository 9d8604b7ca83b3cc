/* SPDX-License-Identifier: Apache-2.0 */
#include "log/filter.h"
#include "unit/log_collect.h"
#include "unit/sink_render.h"

/* Adds one event of each form that a filter distinguishes, at intervals of a
 * microsecond. */
static void events(struct build *b)
{
	memset(b, 0, sizeof(*b));
	build_head(b, "a@h", 1, 0);
	build_anchor(b, 0, 0, 0);
	build_begin(b, 0, 0);
	/* 0: call m:f(1,f) */
	RECORD(b, 0, INV_TAG_CALL, 0, PID, 0x83, M, F, INV_T_LIST, 1, F,
	       INV_T_END);
	/* 1: call m:f(7). Its list of arguments, [7], is encoded as a
	 * string. */
	RECORD(b, 1000, INV_TAG_CALL, 0, PID, 0x83, M, F, 0xb0, 7);
	/* 2: return_from m:f/2 -> m */
	RECORD(b, 2000, INV_TAG_RETURN_FROM, INV_EV_EXTRA, PID, 0x83, M, F, 2,
	       M);
	/* 3: spawn of a process that runs f:m() */
	RECORD(b, 3000, INV_TAG_SPAWN, INV_EV_EXTRA, PID, PID, 0x83, F, M,
	       INV_T_NIL);
	/* 4: send */
	RECORD(b, 4000, INV_TAG_SEND, INV_EV_EXTRA, PID, M, PID);
	/* 5: the event `in', with 0 in place of the current function */
	RECORD(b, 5000, INV_TAG_IN, 0, PID, 0);
	/* 6: seq_trace {send, {0,1}, <0.88.0>, m, f} */
	RECORD(b, 6000, INV_TAG_SEQ_TRACE, 0, 17, 0x85, M, 0x82, 0, 1, PID, M,
	       F);
	/* 7: a call whose arguments were cut: m:f(f, and 2 more) */
	RECORD(b, 7000, INV_TAG_CALL, INV_EV_CUT, PID, 0x83, M, F, INV_T_LIST,
	       F, INV_T_CUT, INV_CUT_LIST, 2);
	build_end(b);
	build_lose(b, 0, INV_LOSS_FULL, 3);
	build_totals(b, INV_END_CLOSED);
}

/* Checks which items pass the filter. In `expected', a digit is the number of
 * an event, and `L' is a loss. */
static void passes(struct inv_filter *f, const char *expected)
{
	struct inv_item *item;
	char got[32] = "";
	size_t n = 0;
	struct collected c;
	struct inv_merge m;
	struct build b;

	events(&b);
	collect_init(&c);
	assert_int_equal(collect_add(&c, "x", b.file.data, b.file.len), 0);
	assert_int_equal(inv_inputs_open(&c.inputs, &c.err), 0);
	assert_int_equal(inv_merge_init(&m, c.inputs.feeds, c.inputs.n_feeds),
			 0);
	while (!inv_merge_next(&m, &item))
		if (inv_filter_passes(f, item))
			got[n++] = "01234567L"[item->kind == INV_ITEM_LOSS ?
						       8 :
						       item->ts_ns / 1000];
	assert_string_equal(got, expected);
	inv_merge_release(&m);
	collect_release(&c);
	build_release(&b);
	inv_filter_release(f);
}

enum what {
	PIDS,
	TAGS,
	MFAS
};

static int add(struct inv_filter *f, enum what what, const char *text,
	       struct inv_err *err)
{
	switch (what) {
	case PIDS:
		return inv_filter_add_pid(f, text, err);
	case TAGS:
		return inv_filter_add_tags(f, text, err);
	default:
		return inv_filter_add_mfa(f, text, err);
	}
}

static void one(enum what what, const char *text, const char *expected)
{
	struct inv_filter f;

	assert_int_equal(inv_filter_init(&f), 0);
	assert_int_equal(add(&f, what, text, NULL), 0);
	passes(&f, expected);
}

static void refused(enum what what, const char *text, const char *says)
{
	struct inv_err err = { 0 };
	struct inv_filter f;

	assert_int_equal(inv_filter_init(&f), 0);
	assert_int_equal(add(&f, what, text, &err), INV_EINVAL);
	assert_non_null(strstr(err.text, says));
	inv_filter_release(&f);
}

static void without_a_condition_all_pass(void **state)
{
	struct inv_filter f;

	(void)state;
	assert_int_equal(inv_filter_init(&f), 0);
	passes(&f, "01234567L");
}

static void times_are_half_open(void **state)
{
	struct inv_filter f;

	(void)state;
	assert_int_equal(inv_filter_init(&f), 0);
	inv_filter_time(&f, 2000, 4000);
	passes(&f, "23L");
}

static void tags_are_the_documented_ones(void **state)
{
	(void)state;
	one(TAGS, "call", "017L");
	one(TAGS, "send,seq_trace", "46L");
	refused(TAGS, "call,reply", "reply: no such tag; the tags are send, ");
	refused(TAGS, "reply", ", closed, seq_trace");
	refused(TAGS, "", "no such tag");
}

static void functions_are_known_by_name_and_arity(void **state)
{
	(void)state;
	one(MFAS, "m", "0127L");
	one(MFAS, "m:f", "0127L");
	one(MFAS, "m:", "0127L");
	one(MFAS, "m:f/2", "02L");
	one(MFAS, "m:f/1", "1L");
	one(MFAS, "m:f/3", "7L");
	one(MFAS, "m:g", "L");
	one(MFAS, "f:m/0", "3L");
	one(MFAS, ":m.f/1", "1L");
	one(MFAS, "'m':'f'/1", "1L");
	one(MFAS, "M", "L"); /* M is the module Elixir.M */
	refused(MFAS, "m/2", "lists:seq/2");
	refused(MFAS, "m:f/x", "Enum.map");
	refused(MFAS, "m:f/256", "Enum.map");
	refused(MFAS, "'m:f", "Enum.map");
	refused(MFAS, ":", "Enum.map");
	refused(MFAS, "m:/2", "Enum.map");
	refused(MFAS, ":m.", "Enum.map");
	refused(MFAS, "", "Enum.map");
	refused(MFAS, "Enum./2", "Enum.map");
}

static void elixirs_modules_have_their_prefix(void **state)
{
	static const char name[] = "Elixir.My.Mod";
	struct inv_filter f;
	struct collected c;
	struct build b = { 0 };
	unsigned n = 0;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_begin(&b, 0, 0);
	inv_buf_reset(&b.body);
	build_define(&b, INV_DEF_ATOM, "go!", 3);		/* 1 */
	build_define(&b, INV_DEF_ATOM, name, sizeof(name) - 1); /* 0 */
	b.p.def_len = (uint32_t)b.body.len;
	RECORD(&b, 0, INV_TAG_CALL, 0, 1, 0x83, 0x40, 0x41, INV_T_NIL);
	build_end(&b);
	build_totals(&b, INV_END_CLOSED);
	for (unsigned i = 0; i < 5; i++) {
		static const char *const texts[] = { "My.Mod", "My.Mod.go!",
						     "My.Mod.go!/0",
						     "Elixir.My.Mod.go!",
						     "My.Mod.go!/1" };
		struct inv_feed *feed;

		assert_int_equal(inv_filter_init(&f), 0);
		assert_int_equal(inv_filter_add_mfa(&f, texts[i], NULL), 0);
		collect_init(&c);
		assert_int_equal(collect_add(&c, "x", b.file.data, b.file.len),
				 0);
		assert_int_equal(inv_inputs_open(&c.inputs, &c.err), 0);
		feed = c.inputs.feeds[0];
		assert_int_equal(feed->ops->next(feed), 0);
		n += inv_filter_passes(&f, &feed->item);
		collect_release(&c);
		inv_filter_release(&f);
	}
	assert_int_equal(n, 4);
	build_release(&b);
}

static void processes_are_as_their_node_prints_them(void **state)
{
	(void)state;
	one(PIDS, "<0.88.0>", "01234567L");
	one(PIDS, "a@h=<0.88.0>", "01234567L");
	one(PIDS, "b@h=<0.88.0>", "L");
	one(PIDS, "<0.89.0>", "L");
	one(PIDS, "<0.88.1>", "L");
	one(PIDS, "#Port<0.88>", "L");
	refused(PIDS, "<9.88.0>", "as its own node prints it");
	refused(PIDS, "<0.88>", "<0.88.0>");
	refused(PIDS, "<0.88.0>x", "<0.88.0>");
	refused(PIDS, "=<0.88.0>", "<0.88.0>");
	refused(PIDS, "88", "<0.88.0>");
}

static void kinds_are_anded_and_conditions_of_a_kind_ored(void **state)
{
	struct inv_filter f;

	(void)state;
	assert_int_equal(inv_filter_init(&f), 0);
	assert_int_equal(inv_filter_add_mfa(&f, "m:f/1", NULL), 0);
	assert_int_equal(inv_filter_add_mfa(&f, "m:f/2", NULL), 0);
	assert_int_equal(inv_filter_add_mfa(&f, "f:m", NULL), 0);
	assert_int_equal(inv_filter_add_tags(&f, "call", NULL), 0);
	assert_int_equal(inv_filter_add_tags(&f, "spawn", NULL), 0);
	assert_int_equal(inv_filter_add_pid(&f, "<0.1.0>", NULL), 0);
	assert_int_equal(inv_filter_add_pid(&f, "<0.88.0>", NULL), 0);
	inv_filter_time(&f, 1000, INT64_MAX);
	passes(&f, "13L");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_condition_all_pass),
		cmocka_unit_test(times_are_half_open),
		cmocka_unit_test(tags_are_the_documented_ones),
		cmocka_unit_test(functions_are_known_by_name_and_arity),
		cmocka_unit_test(elixirs_modules_have_their_prefix),
		cmocka_unit_test(processes_are_as_their_node_prints_them),
		cmocka_unit_test(kinds_are_anded_and_conditions_of_a_kind_ored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
