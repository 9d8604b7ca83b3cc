/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads many copies of a small log: for each byte, one copy that ends before
 * this byte, and one copy in which this byte was changed. Readers must return
 * the events of the undamaged packets, and the sum of read and lost events must
 * be right.
 */
#include "log/scan.h"
#include "unit/log_collect.h"

#define PACKETS 4u
#define EVENTS 3u /* in each packet */

static void small_log(struct build *b, int zstd)
{
	memset(b, 0, sizeof(*b));
	b->zstd = zstd;
	build_head(b, "a@h", 1, 0);
	build_anchor(b, 0, 1000, 0);
	for (unsigned i = 0; i < PACKETS; i++) {
		build_begin(b, i % 2, 100 * i);
		for (unsigned k = 0; k < EVENTS; k++)
			build_event(b, 100 * i + k, 10 * i + k);
		build_end(b);
	}
	build_totals(b, INV_END_CLOSED);
}

static void in_order(const struct collected *c)
{
	for (size_t i = 1; i < c->n; i++)
		assert_true(c->got[i - 1].ts <= c->got[i].ts);
}

static void any_byte_changed(int zstd, uint8_t flip)
{
	struct collected c;
	struct build b;

	small_log(&b, zstd);
	for (size_t at = 0; at < b.file.len; at++) {
		b.file.data[at] ^= flip;
		collect_one(&c, b.file.data, b.file.len);
		assert_true(c.notices.n_damages == 1);
		assert_true(c.last_damage <= at);
		assert_true(c.n_events >= (PACKETS - 1) * EVENTS);
		if (strstr(c.said, "no end")) /* the damaged packet has the
						 totals */
			assert_int_equal(c.n_events, PACKETS * EVENTS);
		else
			assert_int_equal(c.n_events + collect_lost(&c),
					 PACKETS * EVENTS);
		in_order(&c);
		collect_release(&c);
		b.file.data[at] ^= flip;
	}
	build_release(&b);
}

static void with_any_byte_changed_the_rest_is_read(void **state)
{
	(void)state;
	any_byte_changed(0, 0x01);
	any_byte_changed(0, 0x80);
	any_byte_changed(0, 0xff);
}

static void with_any_byte_of_a_packed_log_changed_the_rest_is_read(void **state)
{
	(void)state;
	any_byte_changed(1, 0x10);
}

/* Returns how many packets of events end at or before offset len. */
static unsigned whole_packets(const struct build *b, size_t len)
{
	size_t off = ((const struct inv_log_head *)b->file.data)->head_len;
	unsigned n = 0;

	while (off < len) {
		struct inv_log_packet h;

		memcpy(&h, b->file.data + off, sizeof(h));
		off += sizeof(h) + h.body_len;
		n += h.type == INV_LOG_EVENTS && off <= len;
	}
	return n;
}

static void events_before_a_cut_are_read(void **state)
{
	struct collected c;
	struct build b;

	(void)state;
	small_log(&b, 0);
	for (size_t len = 1; len < b.file.len; len++) {
		int rc;

		collect_init(&c);
		/* The copy has exactly this size, so that a sanitizer
		 * detects reads after its end. */
		uint8_t *copy = malloc(len);

		memcpy(copy, b.file.data, len);
		rc = collect_add(&c, "x", copy, len);
		if (rc) {
			assert_true(len < sizeof(struct inv_log_head) + 8);
		} else {
			collect_run(&c);
			assert_int_equal(c.n_events,
					 whole_packets(&b, len) * EVENTS);
			assert_true(c.said[0]);
			in_order(&c);
		}
		collect_release(&c);
		free(copy);
	}
	build_release(&b);
}

static void removed_bytes_damage_only_one_packet(void **state)
{
	struct inv_buf f = { 0 };
	struct collected c;
	struct build b;

	(void)state;
	small_log(&b, 0);
	for (size_t at = 0; at < b.file.len; at++) {
		inv_buf_reset(&f);
		inv_buf_put(&f, b.file.data, at);
		inv_buf_put(&f, b.file.data + at + 1, b.file.len - at - 1);
		collect_one(&c, f.data, f.len);
		assert_true(c.notices.n_damages > 0);
		assert_true(c.n_events >= (PACKETS - 1) * EVENTS);
		in_order(&c);
		collect_release(&c);
	}
	inv_buf_release(&f);
	build_release(&b);
}

static void invalid_bytes_between_packets_are_skipped(void **state)
{
	static const uint32_t sync = INV_LOG_SYNC;
	struct inv_buf f = { 0 };
	struct collected c;
	struct build b;
	size_t at;

	(void)state;
	small_log(&b, 0);
	at = ((const struct inv_log_head *)b.file.data)->head_len;
	inv_buf_put(&f, b.file.data, at);
	for (unsigned i = 0; i < 100; i++)
		inv_buf_put(&f, i % 7 ? (const void *)"rubbish" : &sync, 4);
	inv_buf_put(&f, b.file.data + at, b.file.len - at);
	collect_one(&c, f.data, f.len);
	assert_int_equal(c.n_events, PACKETS * EVENTS);
	assert_int_equal(c.notices.n_damages, 1);
	assert_int_equal(c.last_damage, at);
	collect_release(&c);
	inv_buf_release(&f);
	build_release(&b);
}

/* Makes a file of at least `size' bytes that contains many packet heads. Each
 * head announces a body of `len' bytes, but the bytes that follow are no valid
 * body. */
static void heads_only(struct inv_buf *f, size_t size, unsigned type,
		       uint32_t len)
{
	struct build b = { 0 };
	struct inv_log_packet h = { .sync = INV_LOG_SYNC,
				    .type = (uint8_t)type,
				    .head_len = sizeof(h),
				    .body_len = len,
				    .raw_len = len,
				    .n_events = 1 };

	h.head_sum = XXH64(&h, offsetof(struct inv_log_packet, head_sum), 0);
	build_head(&b, "a@h", 1, 0);
	inv_buf_put(f, b.file.data, b.file.len);
	while (f->len < size) {
		inv_buf_put(f, &h, sizeof(h));
		inv_buf_put(f, "#", 1); /* so that no head follows a body
					   directly */
	}
	build_release(&b);
}

/* Scans a log of n bytes. Returns the length of all bodies that were hashed and
 * had a wrong checksum. */
static uint64_t hashed_in_vain(const void *p, size_t n)
{
	struct inv_scan_step step;
	struct inv_scan scan = { 0 };
	struct inv_source src;
	struct inv_window w;

	assert_int_equal(inv_source_memory(&src, "x", p, n), 0);
	assert_int_equal(inv_window_init(&w, &src, INV_SCAN_WINDOW), 0);
	scan.off = ((const struct inv_log_head *)p)->head_len;
	while (!inv_scan_next(&scan, &w, &step))
		;
	inv_window_release(&w);
	inv_source_close(&src);
	return scan.in_vain;
}

/* In these files, each head announces a body that overlaps the bodies of many
 * other heads. Hashing every body would take a time that grows with the square
 * of the file's size. */
static void overlapping_bodies_are_hashed_up_to_a_limit(void **state)
{
	static const struct {
		unsigned type;
		uint32_t len;
		bool hashed; /* false: the length is invalid */
	} bad[] = {
		{ INV_LOG_EVENTS, 1 << 20, true },
		{ INV_LOG_ANCHORS, 1 << 20, true },
		{ INV_LOG_EVENTS, 2 << 20, true },
		{ INV_LOG_ANCHORS, 2 << 20, false },
		{ INV_LOG_EVENTS, UINT32_MAX, false },
		{ INV_LOG_TOTALS, 100000, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct inv_buf f = { 0 };
		struct collected c;
		uint64_t hashed;

		heads_only(&f, 8 << 20, bad[i].type, bad[i].len);
		collect_one(&c, f.data, f.len);
		assert_int_equal(c.n_events, 0);
		assert_true(c.notices.n_damages > 0);
		collect_release(&c);
		hashed = hashed_in_vain(f.data, f.len);
		assert_true(hashed <= (64u << 20) + 4 * f.len);
		assert_int_equal(hashed > 0, bad[i].hashed);
		inv_buf_release(&f);
	}
}

/* The records of a packet are invalid, but its checksum is right. */
static void invalid_records_are_counted(void **state)
{
	struct build b = { 0 };
	struct collected c;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 10);
	build_event(&b, 10, 1);
	build_record(&b, 11, 0, 0, "", 0); /* a tag that does not exist */
	build_event(&b, 12, 2);
	build_end(&b);
	build_begin(&b, 0, 20);
	build_event(&b, 20, 3);
	b.p.n_events = 5; /* the head of the packet says 5 events, but the
			     packet has one */
	build_end(&b);
	build_totals(&b, INV_END_CLOSED);
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.n_events, 3);
	assert_int_equal(c.lost[INV_LOST_UNREADABLE], 5);
	assert_int_equal(c.notices.n_damages, 2);
	collect_release(&c);
	build_release(&b);
}

/*
 * Makes a log in which the first packet has two of five events, and the second
 * packet has all five. So a reader must skip two events of the second packet.
 * With bad == 1 the second packet's body is damaged, and with bad == 2 its
 * first record. In both cases the other three events are lost.
 */
static void repeated(struct build *b, unsigned bad)
{
	memset(b, 0, sizeof(*b));
	build_head(b, "a@h", 1, 0);
	build_anchor(b, 0, 0, 0);
	build_begin(b, 0, 10);
	build_event(b, 10, 1);
	build_event(b, 11, 2);
	build_end(b);
	b->next[0] = b->recorded[0] = 0;
	build_begin(b, 0, 10);
	if (bad == 2) /* a record longer than the packet */
		inv_buf_put(&b->body, "\xff\x7f", 2);
	for (unsigned i = 0; i < 5; i++)
		build_event(b, 10 + i, 1 + i);
	build_end(b);
	if (bad == 1)
		b->file.data[b->file.len - 1] ^= 1;
	build_begin(b, 0, 20);
	build_event(b, 20, 6);
	build_end(b);
	build_totals(b, INV_END_CLOSED);
}

static void a_damaged_second_copy_loses_no_event_that_was_read(void **state)
{
	static const char *const said[] = {
		"", "a packet's body is damaged: 3 event(s) lost",
		"a record is invalid: 3 event(s) lost"
	};
	struct collected c;
	struct build b;

	(void)state;
	for (unsigned bad = 0; bad < 3; bad++) {
		repeated(&b, bad);
		collect_one(&c, b.file.data, b.file.len);
		assert_int_equal(c.n_events, bad ? 3 : 6);
		assert_int_equal(collect_lost(&c), bad ? 3 : 0);
		assert_int_equal(c.notices.n_damages, bad ? 1 : 0);
		assert_non_null(strstr(c.said, said[bad]));
		assert_int_equal(c.got[c.n - 1].n, 6);
		collect_release(&c);
		build_release(&b);
	}
}

static void a_newer_version_is_refused(void **state)
{
	struct build b = { 0 };
	struct collected c;
	uint64_t sum;
	struct inv_log_head *h;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	h = (struct inv_log_head *)b.file.data;
	h->version = INV_LOG_VERSION + 1;
	sum = XXH64(b.file.data, b.file.len - 8, 0);
	memcpy(b.file.data + b.file.len - 8, &sum, 8);
	collect_init(&c);
	assert_int_equal(collect_add(&c, "x", b.file.data, b.file.len),
			 INV_EVERSION);
	assert_non_null(strstr(c.err.text, "version 4"));
	collect_release(&c);
	build_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_any_byte_changed_the_rest_is_read),
		cmocka_unit_test(
			with_any_byte_of_a_packed_log_changed_the_rest_is_read),
		cmocka_unit_test(events_before_a_cut_are_read),
		cmocka_unit_test(removed_bytes_damage_only_one_packet),
		cmocka_unit_test(invalid_bytes_between_packets_are_skipped),
		cmocka_unit_test(overlapping_bodies_are_hashed_up_to_a_limit),
		cmocka_unit_test(invalid_records_are_counted),
		cmocka_unit_test(
			a_damaged_second_copy_loses_no_event_that_was_read),
		cmocka_unit_test(a_newer_version_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
