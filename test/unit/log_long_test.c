/* SPDX-License-Identifier: Apache-2.0 */

/* Tests packets of more than 1 MiB. Each of them has one event. Readers read
 * the body of such a packet only when they return the event. */
#include "unit/log_collect.h"
#include "unit/log_live.h"

#define LONG (2u * 1024 * 1024)

/* Adds a record {receive, <0.88.0>, Binary}, whose last byte is n. */
static void add_record(struct build *b, uint64_t ns, uint8_t n, size_t size)
{
	struct inv_buf terms = { 0 };
	uint8_t len[INV_VARINT_MAX];

	inv_buf_putc(&terms, INV_T_DICT_SMALL);
	inv_buf_putc(&terms, (char)INV_T_BINARY);
	inv_buf_put(&terms, len, (size_t)(inv_varint_put(len, size) - len));
	for (size_t i = 1; i < size; i++)
		inv_buf_putc(&terms, (char)(i & 0x3f));
	inv_buf_putc(&terms, (char)n);
	assert_false(terms.error);
	build_record(b, ns, INV_TAG_RECEIVE, 0, terms.data, terms.len);
	inv_buf_release(&terms);
}

static void add_long(struct build *b, uint32_t stream, uint64_t ns, uint8_t n)
{
	build_begin(b, stream, ns);
	add_record(b, ns, n, LONG);
	build_end(b);
}

static void add_small(struct build *b, uint32_t stream, uint64_t ns, uint8_t n)
{
	build_begin(b, stream, ns);
	build_event(b, ns, n);
	build_end(b);
}

/* Makes a log with two streams. Stream 0 has a loss before a long event and a
 * loss before a small event. */
static void make_log(struct build *b)
{
	build_head(b, "a@h", 1, 0);
	build_anchor(b, 0, 0, 0);
	add_small(b, 0, 10, 1);
	build_lose(b, 0, INV_LOSS_FULL, 5);
	add_long(b, 0, 20, 3);
	add_long(b, 0, 30, 5);
	build_lose(b, 0, INV_LOSS_FULL, 7);
	add_small(b, 0, 40, 6);
	add_long(b, 1, 15, 2);
	add_long(b, 1, 25, 4);
	add_small(b, 1, 45, 7);
	build_totals(b, INV_END_CLOSED);
}

static void long_events_are_in_their_places(void **state)
{
	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		struct build b = { .zstd = zstd };
		struct collected c;
		int64_t n = 0;

		make_log(&b);
		collect_one(&c, b.file.data, b.file.len);
		for (size_t i = 0; i < c.n; i++)
			if (c.got[i].lost == -1)
				assert_int_equal(c.got[i].n, ++n);
		assert_int_equal(n, 7);
		assert_int_equal(c.lost[INV_LOSS_FULL], 12);
		assert_int_equal(collect_lost(&c), 12);
		assert_int_equal(c.notices.n_damages, 0);
		collect_release(&c);
		build_release(&b);
	}
}

/* While the merge returns long events, only one of them is in memory at a
 * time. */
static void one_long_event_is_in_memory(void **state)
{
	struct build b[3] = { 0 };
	struct inv_item *item;
	struct inv_merge m;
	struct collected c;
	unsigned n = 0;

	(void)state;
	collect_init(&c);
	for (unsigned i = 0; i < 3; i++) {
		build_head(&b[i], "a@h", (uint8_t)(i + 1), 0);
		build_anchor(&b[i], 0, 0, 0);
		add_long(&b[i], 0, 10, 1);
		add_long(&b[i], 1, 20 + i, 2);
		assert_int_equal(
			collect_add(&c, "x", b[i].file.data, b[i].file.len), 0);
	}
	assert_int_equal(inv_inputs_open(&c.inputs, &c.err), 0);
	assert_int_equal(inv_merge_init(&m, c.inputs.feeds, c.inputs.n_feeds),
			 0);
	while (!inv_merge_next(&m, &item)) {
		unsigned loaded = 0;

		assert_true(item->ev.len > LONG);
		for (unsigned i = 0; i < 3; i++)
			loaded += c.inputs.feeds[i]->item.ev.len > 0 &&
				  c.inputs.feeds[i]->item.ts_ns >= item->ts_ns;
		assert_int_equal(loaded, 1);
		n++;
	}
	assert_int_equal(n, 6);
	inv_merge_release(&m);
	collect_release(&c);
	for (unsigned i = 0; i < 3; i++)
		build_release(&b[i]);
}

static void a_damaged_long_event_is_a_loss_at_its_place(void **state)
{
	struct build b = { 0 };
	struct collected c;
	size_t at;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	add_small(&b, 0, 10, 1);
	at = b.file.len + 100000;
	add_long(&b, 0, 20, 2);
	add_small(&b, 0, 30, 3);
	build_totals(&b, INV_END_CLOSED);
	b.file.data[at] ^= 1;
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.got[1].lost, INV_LOST_UNREADABLE);
	assert_int_equal(c.got[1].ts, 20);
	assert_int_equal(c.got[2].n, 3);
	assert_int_equal(c.notices.n_damages, 1);
	collect_release(&c);
	build_release(&b);
}

/* The first long packet has a record whose time is not the time of the packet.
 * Another long packet begins with a note, which is no event. */
static void odd_records_of_long_packets(void **state)
{
	struct build b = { 0 };
	struct collected c;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 10);
	add_record(&b, 15, 1, LONG);
	build_end(&b);
	add_long(&b, 0, 12, 2);
	build_begin(&b, 0, 20);
	build_note(&b, 20, INV_NOTE_NAME);
	add_record(&b, 20, 3, LONG);
	build_end(&b);
	add_small(&b, 0, 30, 4);
	collect_one(&c, b.file.data, b.file.len);
	assert_int_equal(c.n, 4);
	assert_int_equal(c.got[0].ts, 10);
	assert_int_equal(c.got[0].n, 1);
	assert_int_equal(c.got[1].ts, 12);
	assert_int_equal(c.got[2].lost, INV_LOST_UNREADABLE);
	assert_int_equal(c.got[3].n, 4);
	collect_release(&c);
	build_release(&b);
}

/* A packet may be long only if it has exactly one event, and only up to
 * INV_EVENT_MAX bytes. */
static void heads_of_packets_that_may_not_be_long(void **state)
{
	static const struct {
		uint32_t n_events, raw_len, def_len;
		uint8_t type;
		bool ok;
	} heads[] = {
		{ 1, INV_EVENT_MAX, 100, INV_LOG_EVENTS, true },
		{ 1, INV_EVENT_MAX + 1, 100, INV_LOG_EVENTS, false },
		{ 2, INV_PACKET_RAW_MAX, 100, INV_LOG_EVENTS, true },
		{ 2, INV_PACKET_RAW_MAX + 1, 100, INV_LOG_EVENTS, false },
		{ 0, INV_PACKET_RAW_MAX + 1, 100, INV_LOG_EVENTS, false },
		{ 1, INV_PACKET_RAW_MAX + 1, 100, INV_LOG_EVENTS_1, false },
		{ 1, INV_PACKET_RAW_MAX + 1, 0, INV_LOG_TOTALS, false },
		{ 1, INV_EVENT_MAX, INV_EVENT_DEFS_MAX, INV_LOG_EVENTS, true },
		{ 1, INV_EVENT_MAX, INV_EVENT_DEFS_MAX + 1, INV_LOG_EVENTS,
		  false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct inv_log_packet h = { .sync = INV_LOG_SYNC,
					    .type = heads[i].type,
					    .head_len = sizeof(h),
					    .n_events = heads[i].n_events,
					    .raw_len = heads[i].raw_len,
					    .body_len = 1000,
					    .def_len = heads[i].def_len };
		struct inv_log_packet out;

		h.head_sum =
			XXH64(&h, offsetof(struct inv_log_packet, head_sum), 0);
		assert_int_equal(inv_scan_head((const uint8_t *)&h, &out),
				 heads[i].ok);
	}
}

static void check_live(const struct build *b)
{
	struct seen file, live;

	seen_by_reader(&file, b->file.data, b->file.len);
	seen_live(&live, b->file.data, b->file.len, 300000, 0, 1);
	assert_int_equal(file.n, live.n);
	/* The watermark stays before the times of all events. So items of
	 * different streams may come in another order than from the reader for
	 * files. */
	for (size_t i = 0; i < file.n; i++) {
		size_t k = 0;

		while (k < live.n && memcmp(&file.at[i], &live.at[k],
					    sizeof(file.at[i])) != 0)
			k++;
		assert_true(k < live.n);
	}
	assert_int_equal(file.damages, live.damages);
	seen_release(&file);
	seen_release(&live);
}

/* A live log returns the same items as the reader for files. This is also true
 * if the log is damaged or ends within a long packet. */
static void a_live_log_has_the_same_long_events(void **state)
{
	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		struct build b = { .zstd = zstd };

		make_log(&b);
		check_live(&b);
		b.file.data[b.file.len / 3] ^= 1;
		check_live(&b);
		b.file.len -= b.file.len / 3;
		check_live(&b);
		build_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_events_are_in_their_places),
		cmocka_unit_test(one_long_event_is_in_memory),
		cmocka_unit_test(a_damaged_long_event_is_a_loss_at_its_place),
		cmocka_unit_test(odd_records_of_long_packets),
		cmocka_unit_test(heads_of_packets_that_may_not_be_long),
		cmocka_unit_test(a_live_log_has_the_same_long_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
