/* SPDX-License-Identifier: Apache-2.0 */
#include "log/packet.h"

#include <dlfcn.h>
#include <zstd.h>

#include "abi/ring.h"
#include "unit/log_collect.h"

/* At most this many packets may be decompressed. A reader that decompressed the
 * totals again for each of 4096 streams would decompress far more. */
#define DECOMPRESSED_MAX 10000u
static unsigned n_decompressed;

/* Takes the place of the function in libzstd: counts the call, and then calls
 * the function in libzstd. Too many calls fail the test. */
size_t ZSTD_decompressDCtx(ZSTD_DCtx *ctx, void *to, size_t cap,
			   const void *from, size_t n)
{
	static size_t (*decompress)(ZSTD_DCtx *, void *, size_t, const void *,
				    size_t);

	if (!decompress) {
		void *found = dlsym(RTLD_NEXT, "ZSTD_decompressDCtx");

		memcpy(&decompress, &found, sizeof(found));
	}
	assert_true(n_decompressed++ < DECOMPRESSED_MAX);
	return decompress(ctx, to, cap, from, n);
}

static void two_streams_are_merged_by_their_clock(void **state)
{
	struct build b = { 0 };
	struct collected c;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 1, 100);
	build_event(&b, 101, 1);
	build_event(&b, 105, 5);
	build_end(&b);
	build_begin(&b, 0, 90);
	build_event(&b, 102, 2);
	build_event(&b, 104, 4);
	build_end(&b);
	build_begin(&b, 1, 106);
	build_event(&b, 106, 6);
	build_end(&b);
	build_begin(&b, 0, 103);
	build_event(&b, 107, 7);
	build_end(&b);
	build_totals(&b, INV_END_CLOSED);
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.n, 6);
	for (size_t i = 0; i < c.n; i++) {
		static const int expected[] = { 1, 2, 4, 5, 6, 7 };

		assert_int_equal(c.got[i].n, expected[i]);
		assert_int_equal(c.got[i].ts, 100 + expected[i]);
		assert_string_equal(c.got[i].node, "a@h");
	}
	assert_string_equal(c.said, "");
	assert_false(c.inputs.feeds[0]->unended);
	collect_release(&c);
	build_release(&b);
}

static void equal_times_keep_the_order_of_streams_and_inputs(void **state)
{
	struct build b[2] = { 0 };
	struct collected c;

	(void)state;
	collect_init(&c);
	for (uint8_t i = 0; i < 2; i++) {
		build_head(&b[i], i ? "b@h" : "a@h", i, 0);
		build_anchor(&b[i], 0, 0, 0);
		for (uint32_t s = 3; s-- > 0;) {
			build_begin(&b[i], s, 50);
			build_event(&b[i], 50, 10u * i + s);
			build_end(&b[i]);
		}
		build_totals(&b[i], INV_END_CLOSED);
		collect_add(&c, "x", b[i].file.data, b[i].file.len);
	}
	collect_run(&c);
	assert_int_equal(c.n, 6);
	for (size_t i = 0; i < c.n; i++)
		assert_int_equal(c.got[i].n, 10 * (i / 3) + i % 3);
	collect_release(&c);
	build_release(&b[0]);
	build_release(&b[1]);
}

/* Makes a log of three files. `give' has the numbers of the files that are then
 * read, in this order. */
static void rotated(struct collected *c, struct build *b, struct inv_buf *files,
		    const char *give)
{
	collect_init(c);
	memset(b, 0, sizeof(*b));
	for (uint32_t i = 0; i < 3; i++) {
		build_head(b, "a@h", 1, i);
		build_anchor(b, 100u * i, 0, 0);
		build_begin(b, 0, 100u * i);
		build_event(b, 100u * i + 1, 10 * i + 1);
		build_event(b, 100u * i + 2, 10 * i + 2);
		build_end(b);
		build_totals(b, i < 2 ? INV_END_ROTATED : INV_END_CLOSED);
		files[i] = b->file;
		memset(&b->file, 0, sizeof(b->file));
	}
	for (; *give; give++)
		assert_int_equal(collect_add(c, give, files[*give - '0'].data,
					     files[*give - '0'].len),
				 0);
	collect_run(c);
}

static void rotated_done(struct collected *c, struct build *b,
			 struct inv_buf *files)
{
	collect_release(c);
	build_release(b);
	for (int i = 0; i < 3; i++)
		inv_buf_release(&files[i]);
}

static void rotated_files_are_put_in_order_by_their_heads(void **state)
{
	struct inv_buf files[3];
	struct collected c;
	struct build b;

	(void)state;
	rotated(&c, &b, files, "201");
	assert_int_equal(c.n, 6);
	for (size_t i = 0; i < c.n; i++)
		assert_int_equal(c.got[i].n, 10 * (i / 2) + i % 2 + 1);
	assert_string_equal(c.said, "");
	rotated_done(&c, &b, files);
}

static void the_oldest_files_may_have_been_deleted(void **state)
{
	struct inv_buf files[3];
	struct collected c;
	struct build b;

	(void)state;
	rotated(&c, &b, files, "21");
	assert_int_equal(c.n, 4);
	assert_int_equal(c.got[0].n, 11);
	assert_int_equal(c.rotated, 2);
	assert_string_equal(c.said, "");
	rotated_done(&c, &b, files);
}

static void a_file_missing_in_the_middle_is_a_loss(void **state)
{
	struct inv_buf files[3];
	struct collected c;
	struct build b;

	(void)state;
	rotated(&c, &b, files, "02");
	assert_int_equal(c.n, 5);
	assert_int_equal(c.got[2].lost, INV_LOST_UNREADABLE);
	assert_int_equal(c.got[2].n, 2);
	assert_non_null(strstr(c.said, "1 file(s) of this log are missing"));
	rotated_done(&c, &b, files);
}

static void a_file_given_twice_is_read_once(void **state)
{
	struct inv_buf files[3];
	struct collected c;
	struct build b;

	(void)state;
	rotated(&c, &b, files, "01012");
	assert_int_equal(c.n, 6);
	assert_non_null(strstr(c.said, "left out"));
	rotated_done(&c, &b, files);
}

static void a_log_with_a_next_file_is_reported(void **state)
{
	struct inv_buf files[3];
	struct collected c;
	struct build b;

	(void)state;
	rotated(&c, &b, files, "01");
	assert_int_equal(c.n, 4);
	assert_non_null(strstr(c.said, "continues"));
	rotated_done(&c, &b, files);
}

static void packed_packets_are_unpacked(void **state)
{
	struct build b = { .zstd = 1 };
	struct collected c;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 1000, 0);
	build_begin(&b, 0, 100);
	for (unsigned i = 0; i < 60; i++)
		build_event(&b, 100 + i, i);
	build_end(&b);
	build_totals(&b, INV_END_CLOSED);
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.n, 60);
	assert_int_equal(c.got[59].n, 59);
	assert_int_equal(c.got[59].ts, 1159);
	assert_string_equal(c.said, "");
	collect_release(&c);
	build_release(&b);
}

/* --- losses --------------------------------------------------------------- */

static void losses_are_in_order_and_add_up_to_the_totals(void **state)
{
	struct build b = { 0 };
	struct collected c;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 10);
	build_event(&b, 10, 1);
	build_end(&b);
	build_lose(&b, 0, INV_LOSS_FULL, 5);
	build_lose(&b, 0, INV_LOSS_OVERWRITTEN, 7);
	build_begin(&b, 0, 20);
	build_event(&b, 20, 2);
	build_end(&b);
	build_lose(&b, 0, INV_LOSS_OVERWRITTEN, 2);
	build_lose(&b, 0, INV_LOSS_TOO_BIG, 1);
	build_lose(&b, 3, INV_LOSS_LIMIT, 4); /* loses events of a stream
						 that has no packets */
	build_totals(&b, INV_END_CLOSED);
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.n_events, 2);
	assert_int_equal(c.lost[INV_LOSS_FULL], 5);
	assert_int_equal(c.lost[INV_LOSS_OVERWRITTEN], 9);
	assert_int_equal(c.lost[INV_LOSS_TOO_BIG], 1);
	assert_int_equal(c.lost[INV_LOSS_LIMIT], 4);
	assert_int_equal(c.lost[INV_LOST_UNREADABLE], 0);
	assert_int_equal(collect_lost(&c), 19);
	assert_int_equal(c.got[0].n, 1);
	/* The loss of a stream without events is reported at the start of the
	 * file. */
	assert_int_equal(c.got[1].lost, INV_LOSS_LIMIT);
	assert_int_equal(c.got[1].ts, 10);
	assert_true(c.got[2].lost >= 0 && c.got[3].lost >= 0);
	assert_int_equal(c.got[2].ts, 20);
	assert_int_equal(c.got[4].n, 2);
	assert_true(c.got[5].lost >= 0 && c.got[6].lost >= 0);
	collect_release(&c);
	build_release(&b);
}

static void losses_in_several_totals_are_reported_once(void **state)
{
	struct build b = { 0 };
	struct inv_buf first;
	struct collected c;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 10);
	build_event(&b, 10, 1);
	build_end(&b);
	build_lose(&b, 0, INV_LOSS_UNWRITTEN, 3);
	build_totals(&b, INV_END_ROTATED);
	first = b.file;
	memset(&b.file, 0, sizeof(b.file));
	build_head(&b, "a@h", 1, 1);
	build_lose(&b, 0, INV_LOSS_UNWRITTEN, 4);
	build_begin(&b, 0, 20);
	build_event(&b, 20, 2);
	build_end(&b);
	build_totals(&b, INV_END_CLOSED);
	collect_init(&c);
	collect_add(&c, "0", first.data, first.len);
	collect_add(&c, "1", b.file.data, b.file.len);
	collect_run(&c);
	assert_int_equal(c.n_events, 2);
	assert_int_equal(c.lost[INV_LOSS_UNWRITTEN], 7);
	assert_int_equal(collect_lost(&c), 7);
	collect_release(&c);
	inv_buf_release(&first);
	build_release(&b);
}

/* A reader needs the totals of the file for each stream. A compressed packet of
 * totals can be small in the file and large in memory. If the file has many
 * such packets, only the last of them are decompressed again for each
 * stream. */
static void many_totals_are_not_decompressed_for_each_stream(void **state)
{
	const struct inv_log_totals none = { .stream = INV_RINGS_MAX - 1 };
	struct build b = { 0 };
	struct collected c;

	(void)state;
	b.zstd = 1;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 10);
	build_event(&b, 10, 1);
	build_end(&b);
	for (unsigned i = 0; i < 300; i++) {
		b.p.type = INV_LOG_TOTALS;
		b.p.seq = INV_END_FLUSHED;
		while (b.body.len + sizeof(none) <= INV_PACKET_RAW_MAX) {
			inv_buf_put(&b.body, &none, sizeof(none));
			b.p.n_events++;
		}
		build_packet(&b);
	}
	build_lose(&b, 0, INV_LOSS_UNWRITTEN, 3);
	build_lose(&b, 5, INV_LOSS_UNWRITTEN, 4);
	build_totals(&b, INV_END_CLOSED);
	n_decompressed = 0;
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.n_events, 1);
	assert_int_equal(c.lost[INV_LOSS_UNWRITTEN], 7);
	assert_non_null(strstr(c.said, "only the last totals"));
	assert_true(n_decompressed > 300);
	collect_release(&c);
	build_release(&b);
}

static void a_repeated_packet_is_read_once(void **state)
{
	struct build b = { 0 };
	struct inv_buf twice = { 0 };
	struct collected c;
	size_t from;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	from = b.file.len;
	build_begin(&b, 0, 10);
	build_event(&b, 10, 1);
	build_event(&b, 11, 2);
	build_end(&b);
	inv_buf_put(&twice, b.file.data, b.file.len);
	inv_buf_put(&twice, b.file.data + from, b.file.len - from);
	collect_one(&c, twice.data, twice.len);
	assert_int_equal(c.n, 2);
	collect_release(&c);
	inv_buf_release(&twice);
	build_release(&b);
}

static void events_that_two_packets_have_are_read_once(void **state)
{
	struct build b = { 0 };
	struct collected c;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 10);
	build_event(&b, 10, 1);
	build_event(&b, 11, 2);
	build_end(&b);
	b.next[0]--;
	build_begin(&b, 0, 11);
	build_event(&b, 11, 2);
	build_event(&b, 12, 3);
	build_end(&b);
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.n, 3);
	for (size_t i = 0; i < c.n; i++)
		assert_int_equal(c.got[i].n, i + 1);
	collect_release(&c);
	build_release(&b);
}

static void a_log_without_an_end_is_reported(void **state)
{
	struct build b = { 0 };
	struct collected c;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 10);
	build_event(&b, 10, 1);
	build_end(&b);
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.n, 1);
	assert_non_null(strstr(c.said, "has no end"));
	assert_true(c.inputs.feeds[0]->unended);
	collect_release(&c);
	build_release(&b);
}

/* The log is read twice, and an anchor is added between the two readings. The
 * anchor changes the system time of the last event, but not the event's time on
 * the clock of the events. */
static void the_clock_of_events_needs_no_anchor(void **state)
{
	struct build b = { 0 };
	struct collected c[2];

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 1000, 0);
	build_begin(&b, 0, 500000);
	build_event(&b, 500000, 1);
	build_end(&b);
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			build_anchor(&b, 1000000, 1100, 0);
		collect_one(&c[i], b.file.data, b.file.len);
		assert_int_equal(c[i].n, 1);
		assert_int_equal(c[i].got[0].ts, i ? 501050 : 501000);
		assert_int_equal(c[i].got[0].mono, 500000);
		collect_release(&c[i]);
	}
	build_release(&b);
}

static void a_file_can_have_packets_of_both_versions(void **state)
{
	struct build b = { .version_1 = 1 };
	struct collected c;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	for (unsigned i = 1; i <= 5; i += 2) {
		b.version_1 = i % 4 == 1;
		build_begin(&b, 0, 10 * i);
		build_event(&b, 10 * i + 4, i);
		build_event(&b, 10 * i + 9, i + 1);
		build_end(&b);
	}
	build_anchor(&b, 100, 0, 0);
	build_totals(&b, INV_END_CLOSED);
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.notices.n_damages, 0);
	assert_int_equal(c.n, 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(c.got[i].n, i + 1);
		assert_int_equal(c.got[i].ts,
				 10 * (i / 2 * 2 + 1) + (i % 2 ? 9 : 4));
	}
	collect_release(&c);
	build_release(&b);
}

/* Decodes a note of the kind `kind'. */
static int decode_note(struct inv_event *ev, uint64_t kind)
{
	uint8_t r[2 + 2 * INV_VARINT_MAX] = { 0, INV_HEAD_NOTE, 7 };
	const uint8_t *end = inv_varint_put(r + 3, kind);
	struct inv_event_times t = { .last_ns = 1 };
	const uint8_t *p = r;
	int rc;

	r[0] = (uint8_t)(end - r - 1);
	rc = inv_event_decode(ev, &p, end, NULL, &t);
	assert_true(p == end);
	assert_int_equal(t.last_ns, 8);
	return rc;
}

static void a_note_of_any_kind_is_no_event(void **state)
{
	static const uint64_t kinds[] = { 0, 1, UINT32_MAX, UINT64_MAX };
	struct inv_event ev;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_int_equal(decode_note(&ev, kinds[i]), 0);
		assert_true(ev.note);
		assert_true((ev.note == INV_NOTE_NAME) == (kinds[i] == 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_streams_are_merged_by_their_clock),
		cmocka_unit_test(
			equal_times_keep_the_order_of_streams_and_inputs),
		cmocka_unit_test(rotated_files_are_put_in_order_by_their_heads),
		cmocka_unit_test(the_oldest_files_may_have_been_deleted),
		cmocka_unit_test(a_file_missing_in_the_middle_is_a_loss),
		cmocka_unit_test(a_file_given_twice_is_read_once),
		cmocka_unit_test(a_log_with_a_next_file_is_reported),
		cmocka_unit_test(packed_packets_are_unpacked),
		cmocka_unit_test(losses_are_in_order_and_add_up_to_the_totals),
		cmocka_unit_test(losses_in_several_totals_are_reported_once),
		cmocka_unit_test(
			many_totals_are_not_decompressed_for_each_stream),
		cmocka_unit_test(a_repeated_packet_is_read_once),
		cmocka_unit_test(events_that_two_packets_have_are_read_once),
		cmocka_unit_test(a_log_without_an_end_is_reported),
		cmocka_unit_test(the_clock_of_events_needs_no_anchor),
		cmocka_unit_test(a_file_can_have_packets_of_both_versions),
		cmocka_unit_test(a_note_of_any_kind_is_no_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
