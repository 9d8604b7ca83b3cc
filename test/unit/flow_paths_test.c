/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of call paths: paths from calls in a flow, paths from samples, and
 * the bound on the tree's memory. */
#include <stdlib.h>

#include "unit/flow_build.h"

static struct inv_paths profile;
static struct feed f;

static int setup(void **state)
{
	struct inv_flow_opts o = { .profile = &profile };

	(void)state;
	assert_int_equal(inv_paths_init(&profile, 0), 0);
	feed_open(&f, &o);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	feed_close(&f);
	inv_paths_release(&profile);
	return 0;
}

static void call(int64_t ns, uint32_t pid, unsigned function)
{
	f.now = ns;
	feed_call(&f, pid, function, 1);
}

static void returns(int64_t ns, uint32_t pid, unsigned function)
{
	f.now = ns;
	feed_return(&f, pid, function);
	inv_flow_profile(&f.flow, &f.item);
}

/* Returns a text with a line "a;b 12 3" for each frame that has a count. In
 * this line, "a;b" is the path, 12 the frame's own time, and 3 its count. */
static char *paths(void)
{
	static char text[4096];
	const struct inv_paths_name *path[INV_PATHS_DEPTH + 3];
	const struct inv_paths_frame *x = NULL;
	size_t n = 0;

	assert_int_equal(inv_paths_finish(&profile), 0);
	text[0] = 0;
	while ((x = inv_paths_next(&profile, x))) {
		path[x->depth] = x->name;
		if (!x->count)
			continue;
		for (uint32_t i = 1; i <= x->depth; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "%s%s", i > 1 ? ";" : "",
					      path[i]->text);
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %u %u\n",
				      (unsigned)x->self_ns, (unsigned)x->count);
		assert_true(n < sizeof(text));
	}
	return text;
}

static void calls_have_their_paths(void **state)
{
	(void)state;
	call(0, 1, 0);
	call(10, 1, 1);
	call(15, 2, 1);
	returns(30, 1, 1);
	returns(35, 2, 1);
	call(40, 1, 1);
	returns(45, 1, 1);
	returns(100, 1, 0);
	assert_string_equal(paths(), "m:f0/1 75 1\n"
				     "m:f0/1;m:f1/1 25 2\n"
				     "m:f1/1 20 1\n");
	assert_int_equal(inv_paths_root(&profile)->total_ns, 120);
	assert_int_equal(inv_paths_root(&profile)->total_count, 4);
	assert_int_equal(inv_paths_root(&profile)->child->total_ns, 100);
	assert_int_equal(inv_paths_root(&profile)->child->total_count, 3);
}

static void recursion_is_one_frame(void **state)
{
	(void)state;
	call(0, 1, 0);
	for (int i = 1; i <= 20; i++)
		call(i, 1, 1);
	for (int i = 21; i <= 40; i++)
		returns(i, 1, 1);
	returns(50, 1, 0);
	assert_string_equal(paths(), "m:f0/1 11 1\n"
				     "m:f0/1;m:f1/1 39 20\n");
}

/* An exit of a process ends all calls that the process has open. */
static void an_exit_ends_all_calls(void **state)
{
	(void)state;
	feed_marks(&f, "true");
	f.now = 0;
	feed_marked(&f, 1, 0, 1, true);
	f.now = 10;
	feed_marked(&f, 1, 1, 1, true);
	f.now = 12;
	feed_marked(&f, 1, 2, 1, true);
	returns(13, 1, 2);
	feed_marked(&f, 1, 3, 1, true);
	f.now = 100;
	feed_exit(&f, 1);
	inv_flow_profile(&f.flow, &f.item);
	assert_string_equal(paths(), "m:f0/1 10 1\n"
				     "m:f0/1;m:f1/1 2 1\n"
				     "m:f0/1;m:f1/1;m:f2/1 1 1\n"
				     "m:f0/1;m:f1/1;m:f3/1 87 1\n");
}

static void put_int(int64_t i)
{
	feed_put(&f, INV_T_INT);
	f.n_terms =
		(size_t)(inv_varint_put(f.terms + f.n_terms, (uint64_t)i << 1) -
			 f.terms);
}

/* Adds the end of a call whose beginning was not recorded. The call took 9 ns,
 * of which 5 ns were its own time. */
static void whole(int64_t ns, uint32_t pid, unsigned function, unsigned tag)
{
	f.now = ns;
	feed_begin(&f, tag, pid, function, 1);
	if (tag == INV_TAG_EXIT) {
		feed_put(&f, INV_T_DICT_SMALL + 2);
	} else {
		feed_mfa(&f, 1, -1);
		f.item.ev.extra = true;
		feed_put(&f, 7);
	}
	f.item.ev.whole = true;
	put_int(9);
	put_int(5);
	put_int(0);
	feed_put(&f, INV_T_DICT_SMALL + 1);
	feed_mfa(&f, 1, 3);
	feed_end(&f);
	inv_flow_profile(&f.flow, &f.item);
}

/* Only the end of a call is recorded. Then the calls around it are the open
 * calls of the process. */
static void calls_of_which_only_the_end_is_recorded(void **state)
{
	(void)state;
	whole(20, 1, 0, INV_TAG_RETURN_FROM);
	call(30, 1, 1);
	whole(50, 1, 0, INV_TAG_EXCEPTION_FROM);
	returns(60, 1, 1);
	assert_string_equal(paths(), "m:f0/1 5 1\n"
				     "m:f1/1 21 1\n"
				     "m:f1/1;m:f0/1 5 1\n");
}

/* The event of the exit contains a call whose beginning was not recorded. The
 * exit ends this call, and the calls around it. */
static void an_exit_ends_a_call_of_which_only_the_end_is_recorded(void **state)
{
	(void)state;
	whole(20, 1, 0, INV_TAG_EXIT);
	call(30, 2, 1);
	call(40, 2, 2);
	whole(60, 2, 0, INV_TAG_EXIT);
	assert_string_equal(paths(), "m:f0/1 5 1\n"
				     "m:f1/1 10 1\n"
				     "m:f1/1;m:f2/1 11 1\n"
				     "m:f1/1;m:f2/1;m:f0/1 5 1\n");
}

static void what_is_not_sure_is_left_out(void **state)
{
	(void)state;
	call(0, 1, 0);
	feed_loss(&f);
	call(10, 1, 1);
	returns(20, 1, 1);
	returns(30, 1, 0);
	assert_string_equal(paths(), "m:f0/1;m:f1/1 10 1\n");
	assert_int_equal(profile.unsure, 1);
}

static void a_path_can_begin_with_the_kind(void **state)
{
	(void)state;
	profile.by = INV_PATHS_BY_KIND;
	feed_register(&f, 1);
	call(0, 1, 1);
	returns(5, 1, 1);
	call(5, 2, 1);
	returns(6, 2, 1);
	assert_string_equal(paths(), "(no name);m:f1/1 1 1\n"
				     "f0;m:f1/1 5 1\n");
}

static void a_path_can_begin_with_the_node(void **state)
{
	(void)state;
	profile.by = INV_PATHS_BY_NODE;
	call(0, 1, 1);
	returns(5, 1, 1);
	assert_string_equal(paths(), "a@h;m:f1/1 5 1\n");
}

/* --- samples -------------------------------------------------------------- */

/* Adds a sample of process 1 with the stack m:f3/1. */
static void sample(unsigned flags, int64_t ns, int64_t n, int cut)
{
	feed_begin(&f, 0, 1, 3, 0);
	put_int(flags);
	put_int(ns);
	put_int(n);
	feed_put(&f, INV_T_DICT_SMALL + 3);
	if (flags & INV_SAMPLE_ON)
		feed_put(&f, INV_T_DICT_SMALL + 2);
	f.n_terms -= (size_t)cut;
	feed_end_note(&f, INV_NOTE_SAMPLE);
}

static void samples_are_added(void **state)
{
	(void)state;
	sample(0, 7, 1, 0);
	sample(0, 8, 1, 0);
	sample(INV_SAMPLE_CUT | INV_SAMPLE_COLLECTS, 1, 1, 0);
	sample(INV_SAMPLE_LATE, 2, 1, 0);
	sample(INV_SAMPLE_WAITS | INV_SAMPLE_ON, 4, 1, 0);
	assert_string_equal(paths(), "(more);m:f3/1;(collects garbage) 1 1\n"
				     "m:f3/1 15 2\n"
				     "m:f3/1;(waited when it answered) 2 1\n"
				     "m:f3/1;(waits for f3) 4 1\n");
	assert_true(profile.sampled);
}

/* Each of these notes is invalid, as a note in a damaged log can be. */
static void other_samples_are_ignored(void **state)
{
	(void)state;
	sample(0, -1, 1, 0);
	sample(0, INT64_MAX / 2, 1, 0);
	sample(0, 5, 2, 0);
	sample(0, 5, INT64_MAX / 2, 0);
	sample(INV_SAMPLE_ON, 5, 1, 1);
	for (int cut = 1; cut < 8; cut++)
		sample(0, 5, 1, cut);
	assert_string_equal(paths(), "");
	assert_int_equal(inv_paths_root(&profile)->total_ns, 0);
}

/* --- the bound ------------------------------------------------------------ */

/* Many random paths are added, but the memory is only enough for about a
 * hundred frames. The totals stay right. */
static void totals_stay_when_frames_are_evicted(void **state)
{
	uint64_t ns = 0, n = 0;

	(void)state;
	inv_paths_release(&profile);
	assert_int_equal(inv_paths_init(&profile, 20000), 0);
	srand(7);
	for (int i = 0; i < 20000; i++) {
		struct inv_paths_frame *x = inv_paths_root(&profile);
		unsigned t = (unsigned)rand() % 50;

		for (int d = rand() % 8; d >= 0; d--) {
			char text[2] = { (char)('a' + rand() % 6), 0 };

			x = inv_paths_enter_text(&profile, x, text, 1);
		}
		inv_paths_add(&profile, x, 1, t);
		ns += t;
		n++;
		assert_true(profile.size <= 20000 + 400);
	}
	assert_true(profile.evicted > 1000);
	assert_int_equal(inv_paths_finish(&profile), 0);
	assert_int_equal(inv_paths_root(&profile)->total_ns, ns);
	assert_int_equal(inv_paths_root(&profile)->total_count, n);
}

/* Frames of open calls are not evicted, however many other frames are. */
static void frames_of_open_calls_are_kept(void **state)
{
	uint64_t ns = 0;

	(void)state;
	profile.most = 20000;
	feed_marks(&f, "true");
	for (uint32_t pid = 1; pid <= 3; pid++)
		for (unsigned i = 0; i < 9; i++) {
			f.now = i;
			feed_marked(&f, pid, (i + pid) % 10, 1, true);
		}
	for (unsigned i = 0; i < 2000; i++) {
		char text[16];
		int n = snprintf(text, sizeof(text), "%u", i);

		inv_paths_add(&profile,
			      inv_paths_enter_text(&profile,
						   inv_paths_root(&profile),
						   text, (size_t)n),
			      1, 5);
		ns += 5;
	}
	assert_true(profile.evicted > 0);
	for (uint32_t pid = 1; pid <= 3; pid++)
		for (unsigned i = 9; i > 0; i--)
			returns(100, pid, (i - 1 + pid) % 10);
	assert_int_equal(inv_paths_finish(&profile), 0);
	assert_int_equal(inv_paths_root(&profile)->total_ns, ns + 3 * 100);
	assert_int_equal(inv_paths_root(&profile)->total_count, 2000 + 3 * 9);
}

static void deep_paths_end(void **state)
{
	struct inv_paths_frame *x = inv_paths_root(&profile);

	(void)state;
	for (unsigned i = 0; i < 3 * INV_PATHS_DEPTH; i++)
		x = inv_paths_enter_text(&profile, x, i % 2 ? "a" : "b", 1);
	inv_paths_add(&profile, x, 1, 9);
	assert_string_equal(x->name->text, "(deeper)");
	assert_int_equal(x->depth, INV_PATHS_DEPTH + 1);
	assert_int_equal(inv_paths_finish(&profile), 0);
	assert_int_equal(inv_paths_root(&profile)->total_ns, 9);
}

static void names_are_plain_text(void **state)
{
	static const char odd[] =
		"a\0b\nc\x1b\x7f\xc2\x85\xff\xef\xbf\xbf\xed\xa0\x80"
		"\xe2\x80\xae;<z";
	struct inv_paths_frame *x;

	(void)state;
	x = inv_paths_enter_text(&profile, inv_paths_root(&profile), odd,
				 sizeof(odd) - 1);
	assert_string_equal(x->name->text, "a�b�c�����"
					   "����;<z");
	assert_ptr_equal(x, inv_paths_enter_text(&profile,
						 inv_paths_root(&profile), odd,
						 sizeof(odd) - 1));
}

static const char *name_of_function(const char *name)
{
	struct inv_mfa m = {
		.module = { .bytes = (const uint8_t *)"m", .len = 1 },
		.function = { .bytes = (const uint8_t *)name,
			      .len = strlen(name) },
		.arity = 1,
		.hash = name[2], /* differs between the names of this test */
	};

	return inv_paths_enter(&profile, inv_paths_root(&profile), &m, false)
		->name->text;
}

static void different_functions_have_different_names(void **state)
{
	(void)state;
	assert_string_equal(name_of_function("\xef\xbf\xbd"),
			    "m:'\xef\xbf\xbd'/1");
	assert_string_equal(name_of_function("\xef\xbf\xbe"),
			    "m:'\\x{FFFE}'/1");
	assert_string_equal(name_of_function("\xf4\x8f\xbf\xbf"
					     "\xf4\x8f\xbf\xbf"),
			    "m:'\\x{10FFFF}\\x{10FFFF}'/1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_have_their_paths),
		TEST(recursion_is_one_frame),
		TEST(an_exit_ends_all_calls),
		TEST(calls_of_which_only_the_end_is_recorded),
		TEST(an_exit_ends_a_call_of_which_only_the_end_is_recorded),
		TEST(what_is_not_sure_is_left_out),
		TEST(a_path_can_begin_with_the_kind),
		TEST(a_path_can_begin_with_the_node),
		TEST(samples_are_added),
		TEST(other_samples_are_ignored),
		TEST(totals_stay_when_frames_are_evicted),
		TEST(frames_of_open_calls_are_kept),
		TEST(deep_paths_end),
		TEST(names_are_plain_text),
		TEST(different_functions_have_different_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
