/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/log_collect.h"

#include "log/clock.h"
#include "log/file.h"
#include "log/packet.h"

struct fixture {
	struct build b;
	struct inv_notices quiet;
	struct inv_log_file file;
	struct inv_log_cursor cursor;
	struct inv_unpacker *unpacker;
	struct inv_entries anchors;
	uint32_t anchor;
	struct inv_clock clock;
};

static bool next_anchor(void *arg, struct inv_anchor *anchor)
{
	struct fixture *f = arg;
	struct inv_log_place at;

	while (!inv_entries_anchor(&f->anchors, f->anchor, anchor)) {
		f->anchor = 0;
		if (inv_log_cursor_seek(&f->cursor, &f->file,
					INV_LOG_ANCHORS_ONLY, &at))
			return false;
		inv_entries_open(&f->anchors, f->unpacker, &at);
	}
	f->anchor++;
	return true;
}

static void start(struct fixture *f)
{
	struct inv_source src;

	assert_int_equal(
		inv_source_memory(&src, "x", f->b.file.data, f->b.file.len), 0);
	assert_int_equal(inv_log_file_open(&f->file, &src, &f->quiet, NULL), 0);
	f->unpacker = inv_unpacker_new();
	assert_non_null(f->unpacker);
	inv_clock_init(&f->clock, next_anchor, f);
}

static void stop(struct fixture *f)
{
	inv_unpacker_free(f->unpacker);
	inv_log_file_close(&f->file);
	build_release(&f->b);
}

static void at(struct fixture *f, uint64_t mono, int64_t sys, int64_t erl)
{
	int64_t s, e;

	inv_clock_at(&f->clock, mono, &s, &e);
	assert_int_equal(s, sys);
	assert_int_equal(e, erl);
}

#define SEC INT64_C(1000000000)

static void a_drift_is_interpolated(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	build_head(&f.b, "a@h", 1, 0);
	build_anchor(&f.b, 10 * SEC, -100, 5000);
	build_anchor(&f.b, 20 * SEC, -100 + SEC / 10, 5000); /* 1 % fast */
	start(&f);
	at(&f, 9 * SEC, 9 * SEC - 100 + 5000, 9 * SEC - 100);
	at(&f, 10 * SEC, 10 * SEC + 4900, 10 * SEC - 100);
	at(&f, 15 * SEC, 15 * SEC + 4900 + SEC / 20, 15 * SEC - 100 + SEC / 20);
	at(&f, 25 * SEC, 25 * SEC + 4900 + SEC / 10, 25 * SEC - 100 + SEC / 10);
	stop(&f);
}

static void a_jump_happens_at_the_later_anchor(void **state)
{
	struct fixture f = { 0 };
	const int64_t warp = 3600 * SEC;

	(void)state;
	build_head(&f.b, "a@h", 1, 0);
	build_anchor(&f.b, 10 * SEC, 0, 0);
	build_anchor(&f.b, 20 * SEC, 0, warp);
	build_anchor(&f.b, 30 * SEC, 0, 0); /* the offset is 0 again */
	start(&f);
	at(&f, 20 * SEC - 1, 20 * SEC - 1, 20 * SEC - 1);
	at(&f, 20 * SEC, 20 * SEC + warp, 20 * SEC);
	at(&f, 29 * SEC, 29 * SEC + warp, 29 * SEC);
	at(&f, 31 * SEC, 31 * SEC, 31 * SEC);
	stop(&f);
}

static void anchors_that_are_repeated_do_no_harm(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	f.b.zstd = 1;
	build_head(&f.b, "a@h", 1, 0);
	for (unsigned i = 0; i < 3; i++) {
		build_anchor(&f.b, 10, 7, 0);
		build_anchor(&f.b, 5, 7, 0);
		build_anchor(&f.b, 10, 7, 0);
	}
	start(&f);
	at(&f, 3, 10, 10);
	at(&f, 11, 18, 18);
	stop(&f);
}

static void without_anchors_a_guess_is_taken(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	build_head(&f.b, "a@h", 1, 0);
	build_begin(&f.b, 0, 500);
	build_event(&f.b, 510, 1);
	build_end(&f.b);
	start(&f);
	assert_false(f.clock.known);
	inv_clock_guess(&f.clock, 500, 1700000000000000000);
	at(&f, 510, 1700000000000000010, 510);
	stop(&f);
}

static void anchors_of_the_extremes_overflow_nothing(void **state)
{
	struct fixture f = { 0 };
	int64_t s, e;

	(void)state;
	build_head(&f.b, "a@h", 1, 0);
	build_anchor(&f.b, 1, INT64_MAX - 1, INT64_MAX);
	build_anchor(&f.b, UINT64_MAX, INT64_MIN, INT64_MIN);
	start(&f);
	for (uint64_t m = 1; m; m <<= 1)
		inv_clock_at(&f.clock, m, &s, &e);
	inv_clock_at(&f.clock, UINT64_MAX, &s, &e);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_drift_is_interpolated),
		cmocka_unit_test(a_jump_happens_at_the_later_anchor),
		cmocka_unit_test(anchors_that_are_repeated_do_no_harm),
		cmocka_unit_test(without_anchors_a_guess_is_taken),
		cmocka_unit_test(anchors_of_the_extremes_overflow_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
