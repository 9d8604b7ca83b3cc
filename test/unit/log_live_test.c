/* SPDX-License-Identifier: Apache-2.0 */
/* A live log gets the bytes of a file in pieces. It returns the same items as
 * the reader for files. */
#include <dirent.h>

#include "unit/log_live.h"

#define SEC INT64_C(1000000000)

/* --- against the reader --------------------------------------------------- */

struct bytes {
	uint8_t *p;
	size_t n;
};

static struct bytes slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct bytes b = { 0 };

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	b.n = (size_t)ftell(f);
	rewind(f);
	b.p = malloc(b.n + 1);
	assert_non_null(b.p);
	assert_int_equal(fread(b.p, 1, b.n, f), b.n);
	fclose(f);
	return b;
}

/* Makes a log of many packets with several streams and losses; some packets
 * are compressed. */
static struct bytes build_many(void)
{
	struct build b = { 0 };
	struct bytes r;
	uint64_t t = 1000;

	build_head(&b, "a@h", 1, 0);
	for (unsigned i = 0; i < 60; i++) {
		uint32_t stream = i * 7 % 5;

		b.zstd = i % 3 == 0;
		if (i % 10 == 0)
			build_anchor(&b, t, -500 + (int64_t)i, SEC);
		if (i % 9 == 0)
			build_lose(&b, stream,
				   i % 2 ? INV_LOSS_FULL : INV_LOSS_UNWRITTEN,
				   i + 1);
		build_begin(&b, stream, t);
		for (unsigned k = 0; k <= i % 4; k++)
			build_event(&b, t + k * 30, i);
		build_end(&b);
		if (i % 6 == 0) {
			build_begin(&b, stream, t + 100);
			build_note(&b, t + 100, INV_NOTE_NAME);
			build_end(&b);
		}
		t += 20;
		if (i == 40)
			build_totals(&b, INV_END_TERMINATED);
	}
	build_lose(&b, 7, INV_LOSS_NO_RING, 4); /* a stream without events */
	build_totals(&b, INV_END_CLOSED);
	r.p = malloc(b.file.len);
	assert_non_null(r.p);
	r.n = b.file.len;
	memcpy(r.p, b.file.data, r.n);
	build_release(&b);
	return r;
}

static void check(const uint8_t *p, size_t n)
{
	static const size_t pieces[] = { 0, 1, 7, 200, 5000 };
	struct seen whole;

	seen_by_reader(&whole, p, n);
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		struct seen live;

		if (pieces[i] == 1 && n > 4096)
			continue;
		seen_live(&live, p, n, pieces[i], -1000, 40);
		if (pieces[i])
			assert_same_streams(&whole, &live);
		else
			assert_same(&whole, &live);
		seen_release(&live);
	}
	seen_release(&whole);
}

/* Checks all files in `dir' whose names end with `end'. The first `skip' bytes
 * of each file are not log bytes: they are parameters of a fuzzer. */
static unsigned check_files_of(const char *dir, const char *end, size_t skip)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while ((e = readdir(d)) != NULL) {
		size_t len = strlen(e->d_name);
		char path[512];
		struct bytes b;

		if (e->d_name[0] == '.' || len < strlen(end) ||
		    strcmp(e->d_name + len - strlen(end), end) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		b = slurp(path);
		if (b.n > skip)
			check(b.p + skip, b.n - skip);
		free(b.p);
		n++;
	}
	closedir(d);
	return n;
}

static void pieces_have_the_same_items_as_the_whole(void **state)
{
	struct bytes b = build_many();

	(void)state;
	check(b.p, b.n);
	free(b.p);
	assert_true(check_files_of("fuzz/corpus/log", "", 1) > 0);
	assert_true(check_files_of("test/frozen/1", ".log", 0) > 1);
}

static size_t any(size_t n)
{
	return (size_t)rand() % n;
}

/* Damages the bytes in one of several ways: changes bits, removes, repeats
 * or cuts bytes. Returns the new length. */
static size_t damage(uint8_t *p, size_t n)
{
	size_t a = any(n);
	size_t len = 1 + any(300);

	if (len > n - a)
		len = n - a;
	switch (rand() % 4) {
	case 0:
		p[a] ^= (uint8_t)(1 << rand() % 8);
		return n;
	case 1:
		memmove(p + a, p + a + len, n - a - len);
		return n - len;
	case 2:
		memmove(p + a, p + any(n - len + 1), len);
		return n;
	default:
		return a + 1;
	}
}

static void damage_is_found_in_pieces_too(void **state)
{
	struct bytes b = build_many();
	uint8_t *p = malloc(b.n);

	(void)state;
	assert_non_null(p);
	for (unsigned i = 0; i < 400; i++) {
		size_t n = b.n;

		memcpy(p, b.p, n);
		for (int k = rand() % 3; n > 1 && k >= 0; k--)
			n = damage(p, n);
		check(p, n);
	}
	free(p);
	free(b.p);
}

/* --- when items are returned ---------------------------------------------- */

struct fixture {
	struct build b;
	struct inv_notices ns;
	struct inv_node node;
	struct inv_feed *feed;
	size_t pushed;
};

static void start(struct fixture *f, size_t cap)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(
		inv_live_new(&f->feed, &f->node, "a@h", cap, &f->ns, NULL), 0);
	build_head(&f->b, "a@h", 1, 0);
	build_anchor(&f->b, 0, 0, 0);
}

static void stop(struct fixture *f)
{
	f->feed->ops->free(f->feed);
	build_release(&f->b);
}

/* Pushes the bytes that were added to the log since the last call. */
static void push(struct fixture *f)
{
	assert_int_equal(inv_live_push(f->feed, f->b.file.data + f->pushed,
				       f->b.file.len - f->pushed, NULL),
			 0);
	f->pushed = f->b.file.len;
}

static void packet(struct fixture *f, uint32_t stream, uint64_t ns,
		   unsigned first, unsigned n)
{
	build_begin(&f->b, stream, ns);
	for (unsigned i = 0; i < n; i++)
		build_event(&f->b, ns + 10 * i, first + i);
	build_end(&f->b);
}

static void gives(struct fixture *f, unsigned n)
{
	const struct inv_event *ev = &f->feed->item.ev;

	assert_int_equal(f->feed->ops->next(f->feed), 0);
	assert_int_equal(f->feed->item.kind, INV_ITEM_EVENT);
	assert_int_equal(ev->terms[ev->len - 1], n);
}

static void gives_nothing(struct fixture *f)
{
	assert_int_equal(f->feed->ops->next(f->feed), INV_END);
}

static void events_wait_for_the_watermark(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	packet(&f, 1, 100, 1, 3); /* 100, 110, 120 */
	push(&f);
	gives_nothing(&f);
	inv_live_mark(f.feed, 111, 0);
	gives(&f, 1);
	gives(&f, 2);
	gives_nothing(&f);
	gives_nothing(&f);
	packet(&f, 0, 115, 9, 1);
	push(&f);
	inv_live_mark(f.feed, 200, 0);
	gives(&f, 9);
	gives(&f, 3);
	gives_nothing(&f);
	assert_true(f.feed->growing);
	build_totals(&f.b, INV_END_CLOSED);
	push(&f);
	assert_int_equal(inv_live_end(f.feed, NULL), 0);
	gives_nothing(&f);
	assert_false(f.feed->growing);
	assert_false(f.feed->unended);
	stop(&f);
}

static void a_watermark_is_in_erlangs_time(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	assert_true(f.feed->mark_ns == INT64_MIN);
	build_anchor(&f.b, 50, -1000, 5000);
	packet(&f, 0, 100, 1, 1); /* Erlang's time -900 */
	push(&f);
	inv_live_mark(f.feed, -900, 0);
	gives_nothing(&f);
	inv_live_mark(f.feed, -899, 0);
	assert_int_equal(f.feed->mark_ns, 4101);
	gives(&f, 1);
	assert_int_equal(f.feed->item.ts_ns, 4100);
	assert_int_equal(f.feed->item.erl_ns, -900);
	stop(&f);
}

/* The node writes the name of a process at most 250 ms after the process's
 * event. If the watermark is 250 ms after the event, the name has arrived or
 * will not come. */
static void names_are_awaited_for_a_time(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	build_anchor(&f.b, 50, 0, 0);
	packet(&f, 0, 100, 1, 1);
	push(&f);
	assert_int_equal(inv_live_names_wait(f.feed, 100, 250, 0), 0);
	inv_live_mark(f.feed, 101, 1000);
	assert_int_equal(inv_live_names_wait(f.feed, 100, 250, 1000), 250);
	assert_int_equal(inv_live_names_wait(f.feed, 100, 250, 1249), 1);
	/* The node has not answered for 250 ms, so the feed waits no longer. */
	assert_int_equal(inv_live_names_wait(f.feed, 100, 250, 1250), 0);
	inv_live_mark(f.feed, 100 + SEC / 4 - 1, 1249);
	assert_int_equal(inv_live_names_wait(f.feed, 100, 250, 1249), 250);
	inv_live_mark(f.feed, 100 + SEC / 4, 1249);
	assert_int_equal(inv_live_names_wait(f.feed, 100, 250, 1249), 0);
	assert_int_equal(inv_live_names_wait(f.feed, 101, 250, 1249), 250);
	/* The log is complete. */
	assert_int_equal(inv_live_end(f.feed, NULL), 0);
	assert_int_equal(inv_live_names_wait(f.feed, 101, 250, 1249), 0);
	stop(&f);
}

static void an_event_that_arrives_late_is_returned(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	packet(&f, 0, 100, 1, 1);
	push(&f);
	inv_live_mark(f.feed, 1000, 0);
	gives(&f, 1);
	packet(&f, 1, 50, 2, 1);
	push(&f);
	gives(&f, 2);
	gives_nothing(&f);
	stop(&f);
}

static void a_full_feed_does_not_wait(void **state)
{
	struct fixture f;
	unsigned n;

	(void)state;
	start(&f, 1000);
	packet(&f, 0, 100, 1, 1);
	push(&f);
	assert_false(inv_live_full(f.feed));
	gives_nothing(&f);
	for (unsigned i = 0; i < 5; i++)
		packet(&f, 0, 200 + i, 2 + i, 1);
	push(&f);
	assert_true(inv_live_full(f.feed));
	gives(&f, 1);
	/* The feed is full, so it returns some items before the watermark. It
	 * stops when it has space again, and waits for a watermark. */
	for (n = 2; !f.feed->ops->next(f.feed); n++)
		;
	assert_false(inv_live_full(f.feed));
	assert_true(n < 6);
	inv_live_mark(f.feed, 1000, 0);
	gives(&f, n);
	stop(&f);
}

static void an_item_stays_valid_while_bytes_are_pushed(void **state)
{
	struct fixture f;
	const struct inv_event *ev;

	(void)state;
	start(&f, INV_LIVE_CAP);
	f.b.zstd = 1;
	packet(&f, 0, 100, 1, 2);
	push(&f);
	inv_live_mark(f.feed, 101, 0);
	gives(&f, 1);
	for (unsigned i = 0; i < 200; i++) {
		packet(&f, i % BUILD_STREAMS, 200 + i, i % 64, 3);
		push(&f);
	}
	inv_live_mark(f.feed, 10000, 0);
	assert_int_equal(inv_live_end(f.feed, NULL), 0);
	ev = &f.feed->item.ev;
	assert_int_equal(ev->terms[ev->len - 1], 1);
	gives(&f, 2);
	stop(&f);
}

static void a_log_that_is_cut_off_has_no_end(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	packet(&f, 0, 100, 1, 1);
	push(&f);
	assert_int_equal(inv_live_end(f.feed, NULL), 0);
	assert_int_equal(inv_live_end(f.feed, NULL), 0);
	gives(&f, 1);
	gives_nothing(&f);
	assert_true(f.feed->unended);
	assert_int_equal(inv_live_push(f.feed, "x", 1, NULL), INV_EINVAL);
	stop(&f);
}

static void nothing_at_all_is_no_error(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	assert_int_equal(inv_live_end(f.feed, NULL), 0);
	gives_nothing(&f);
	assert_false(f.feed->growing);
	assert_true(f.feed->unended);
	stop(&f);
}

static void other_files_are_refused(void **state)
{
	static char junk[100000];
	struct fixture f;
	int rc = 0;

	(void)state;
	start(&f, INV_LIVE_CAP);
	for (int i = 0; !rc && i < 10; i++)
		rc = inv_live_push(f.feed, junk, 10000, NULL);
	assert_int_equal(rc, INV_EFORMAT);
	gives_nothing(&f);
	assert_false(f.feed->growing);
	stop(&f);
	start(&f, INV_LIVE_CAP);
	f.b.file.data[8] = 99; /* the version is changed, so the checksum is
				  wrong, too */
	assert_int_equal(inv_live_push(f.feed, f.b.file.data, 30, NULL), 0);
	assert_int_equal(inv_live_end(f.feed, NULL), INV_EFORMAT);
	stop(&f);
}

static void anchors_without_events_take_no_memory(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, INV_LIVE_CAP);
	for (int64_t i = 1; i < 1000; i++) {
		build_anchor(&f.b, (uint64_t)(i * SEC), i * 1000, 0);
		push(&f);
		inv_live_mark(f.feed, i * (SEC + 1000) - 5, 0);
		gives_nothing(&f);
	}
	/* The feed has kept the last two anchors, and the event is between
	 * them. */
	packet(&f, 0, (uint64_t)(998 * SEC + SEC / 2), 1, 1);
	push(&f);
	inv_live_mark(f.feed, 1000 * SEC + SEC, 0);
	gives(&f, 1);
	assert_int_equal(f.feed->item.ts_ns, 998 * SEC + SEC / 2 + 998500);
	assert_false(inv_live_full(f.feed));
	stop(&f);
}

static unsigned losses(struct fixture *f, uint64_t *lost)
{
	unsigned n = 0;

	*lost = 0;
	while (!f->feed->ops->next(f->feed)) {
		assert_int_equal(f->feed->item.kind, INV_ITEM_LOSS);
		*lost += f->feed->item.lost.n;
		n++;
	}
	return n;
}

static void totals_of_a_full_log_take_no_more_memory(void **state)
{
	struct fixture f;
	uint64_t lost;

	(void)state;
	start(&f, 10000);
	for (unsigned i = 0; i < 500; i++) {
		build_lose(&f.b, 3, INV_LOSS_FULL, 1);
		build_totals(&f.b, INV_END_TERMINATED);
	}
	push(&f);
	assert_int_equal(inv_live_end(f.feed, NULL), 0);
	assert_in_range(losses(&f, &lost), 1, 100);
	assert_int_equal(lost, 500);
	stop(&f);
}

static void totals_of_a_stream_are_taken_once(void **state)
{
	struct inv_log_totals t = { .stream = 3, .produced = 2 };
	struct fixture f;
	uint64_t lost;

	(void)state;
	t.dropped[INV_LOSS_FULL] = 2;
	start(&f, 10000);
	for (unsigned i = 0; i < 10000; i++)
		inv_buf_put(&f.b.body, &t, sizeof(t));
	f.b.p.type = INV_LOG_TOTALS;
	f.b.p.n_events = 10000;
	build_packet(&f.b);
	push(&f);
	assert_false(inv_live_full(f.feed));
	assert_int_equal(inv_live_end(f.feed, NULL), 0);
	assert_int_equal(losses(&f, &lost), 1);
	assert_int_equal(lost, 2);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_have_the_same_items_as_the_whole),
		cmocka_unit_test(damage_is_found_in_pieces_too),
		cmocka_unit_test(events_wait_for_the_watermark),
		cmocka_unit_test(a_watermark_is_in_erlangs_time),
		cmocka_unit_test(names_are_awaited_for_a_time),
		cmocka_unit_test(an_event_that_arrives_late_is_returned),
		cmocka_unit_test(a_full_feed_does_not_wait),
		cmocka_unit_test(an_item_stays_valid_while_bytes_are_pushed),
		cmocka_unit_test(a_log_that_is_cut_off_has_no_end),
		cmocka_unit_test(nothing_at_all_is_no_error),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(anchors_without_events_take_no_memory),
		cmocka_unit_test(totals_of_a_full_log_take_no_more_memory),
		cmocka_unit_test(totals_of_a_stream_are_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
