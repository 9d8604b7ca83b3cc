/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A merge can be limited to a range of time (inv_merge_limit). It then returns
 * the same events of this range as a merge without a limit, but reads only
 * packets that can have such events.
 */
#include "unit/log_collect.h"

/* Reads the events of a log in the range of time, from n_files files. Sets
 * *skipped to the number of events that the reader skipped. */
static void read_range(struct collected *c, const struct inv_buf *files,
		       size_t n_files, int64_t from, int64_t until,
		       uint64_t *skipped)
{
	struct inv_item *item;
	struct inv_merge m;
	int rc;

	collect_init(c);
	for (size_t i = 0; i < n_files; i++)
		assert_int_equal(
			collect_add(c, "x", files[i].data, files[i].len), 0);
	assert_int_equal(inv_inputs_open(&c->inputs, &c->err), 0);
	assert_int_equal(inv_merge_init(&m, c->inputs.feeds, c->inputs.n_feeds),
			 0);
	if (from != INT64_MIN || until != INT64_MAX)
		inv_merge_limit(&m, from, until);
	while (!(rc = inv_merge_next(&m, &item)))
		collect_item(c, item);
	assert_int_equal(rc, INV_END);
	*skipped = 0;
	for (uint32_t i = 0; i < c->inputs.n_feeds; i++)
		*skipped += c->inputs.feeds[i]->skipped;
	inv_merge_release(&m);
}

/* --- examples ------------------------------------------------------------- */

/* The Erlang system time at the moment at which the clock of the events is
 * 0. */
#define T0 INT64_C(1000000)

/* Adds a packet with events at begin, begin + 1, ... begin + 9. */
static void packet_at(struct build *b, uint32_t stream, uint64_t begin)
{
	build_begin(b, stream, begin);
	for (unsigned k = 0; k < 10; k++)
		build_event(b, begin + k, k);
	build_end(b);
}

/* Makes a log with packets at 0, 100, ... 900. Before each packet, the stream
 * loses 1 event because the ring is full. After the last packet it loses 10. */
static void log_with_losses(struct build *b)
{
	memset(b, 0, sizeof(*b));
	build_head(b, "a@h", 1, 0);
	build_anchor(b, 0, 0, T0);
	for (unsigned i = 0; i < 10; i++) {
		build_lose(b, 0, INV_LOSS_FULL, 1);
		packet_at(b, 0, 100 * i);
	}
	build_lose(b, 0, INV_LOSS_FULL, 10);
	build_totals(b, INV_END_CLOSED);
}

/* Checks how many events of the log are returned, skipped and lost. */
static void expect(const struct build *b, int64_t from, int64_t until,
		   uint64_t n_events, uint64_t n_lost)
{
	struct collected c;
	uint64_t skipped;

	read_range(&c, &b->file, 1, T0 + from, T0 + until, &skipped);
	assert_int_equal(c.n_events, n_events);
	assert_int_equal(skipped, 100 - n_events);
	assert_int_equal(collect_lost(&c), n_lost);
	assert_string_equal(c.said, "");
	collect_release(&c);
}

static void packets_outside_are_skipped_with_their_losses(void **state)
{
	struct build b;

	(void)state;
	log_with_losses(&b);
	/* If events are lost between two packets, the time of the loss is
	 * unknown. The loss after the last packet of the range may be in the
	 * range, so it is reported, too. */
	expect(&b, 0, 1000, 100, 20);
	expect(&b, 300, 310, 10, 2);
	expect(&b, 305, 505, 30, 4);
	expect(&b, 309, 401, 20, 3);
	/* No event is in the range. But events were lost between the last
	 * packet before the range and the first packet after it. These events
	 * may have been in the range. */
	expect(&b, 250, 260, 0, 1);
	expect(&b, 0, 1, 10, 2);
	/* The range ends before the first event, so it has no loss either. */
	expect(&b, -10, 0, 0, 0);
	/* The 10 events that are lost after the last packet may have been in
	 * each of these ranges. */
	expect(&b, 900, 901, 10, 11);
	expect(&b, 950, 960, 0, 10);
	build_release(&b);
}

/* The log has two files. At the end of the first file, the totals count lost
 * events. These were lost before the first packet of the second file. */
static void losses_before_a_rotation_are_before_the_next_packet(void **state)
{
	struct inv_buf files[2] = { { 0 } };
	struct build b = { 0 };
	struct collected c;
	uint64_t skipped;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, T0);
	packet_at(&b, 0, 0);
	build_lose(&b, 0, INV_LOSS_FULL, 5);
	build_totals(&b, INV_END_ROTATED);
	inv_buf_put(&files[0], b.file.data, b.file.len);
	build_head(&b, "a@h", 1, 1);
	packet_at(&b, 0, 100);
	packet_at(&b, 0, 200);
	build_totals(&b, INV_END_CLOSED);
	inv_buf_put(&files[1], b.file.data, b.file.len);

	/* The range begins after the packet at 100, so the loss is before the
	 * range and is not reported. */
	read_range(&c, files, 2, T0 + 200, T0 + 300, &skipped);
	assert_int_equal(skipped, 20);
	assert_int_equal(c.n_events, 10);
	assert_int_equal(collect_lost(&c), 0);
	collect_release(&c);
	/* The events may have been lost in this range, so the loss is
	 * reported. */
	read_range(&c, files, 2, T0 + 50, T0 + 60, &skipped);
	assert_int_equal(skipped, 30);
	assert_int_equal(collect_lost(&c), 5);
	collect_release(&c);
	inv_buf_release(&files[0]);
	inv_buf_release(&files[1]);
	build_release(&b);
}

static void a_body_that_is_skipped_is_not_read(void **state)
{
	struct collected c;
	uint64_t skipped;
	struct build b;

	(void)state;
	log_with_losses(&b);
	/* Damages the last byte of the first packet. */
	for (size_t i = 0; i + sizeof(struct inv_log_packet) < b.file.len;
	     i++) {
		struct inv_log_packet h;

		memcpy(&h, b.file.data + i, sizeof(h));
		if (h.sync != INV_LOG_SYNC || h.type != INV_LOG_EVENTS)
			continue;
		b.file.data[i + sizeof(h) + h.body_len - 1] ^= 1;
		break;
	}
	read_range(&c, &b.file, 1, INT64_MIN, INT64_MAX, &skipped);
	assert_int_equal(c.lost[INV_LOST_UNREADABLE], 10);
	assert_int_equal(c.notices.n_damages, 1);
	collect_release(&c);
	expect(&b, 300, 310, 10, 2);
	build_release(&b);
}

/* Between two anchors, system time goes back by 50 ms. So the clock shows some
 * times twice. If such a time is in the range, the events of both moments are
 * in the range. */
static void both_times_of_a_clock_that_went_back_are_found(void **state)
{
	struct build b = { 0 };
	struct collected c;
	uint64_t skipped;

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, T0);
	for (unsigned i = 0; i < 10; i++)
		packet_at(&b, 0, UINT64_C(10000000) * i);
	build_anchor(&b, 100000000, 0, T0 - 50000000);
	for (unsigned i = 10; i < 20; i++)
		packet_at(&b, 0, UINT64_C(10000000) * i);
	build_totals(&b, INV_END_CLOSED);
	/* The events of the six packets at 60000000, 70000000, ... 110000000
	 * are returned. */
	read_range(&c, &b.file, 1, T0 + 60000000, T0 + 60000010, &skipped);
	assert_int_equal(c.n_events, 60);
	assert_int_equal(c.got[0].ts, T0 + 60000000);
	assert_int_equal(c.got[59].ts, T0 + 60000009);
	assert_int_equal(skipped, 140);
	collect_release(&c);
	build_release(&b);
}

/* --- random logs ---------------------------------------------------------- */

#define FILES 4u
#define STREAMS 3u

struct world {
	struct build b;
	struct inv_buf files[FILES];
	size_t first; /* index of the first file that still exists */
	uint64_t mono[STREAMS];
	int64_t offset;
};

static unsigned to(unsigned n)
{
	return (unsigned)rand() % n; /* NOLINT: repeatable */
}

static void random_packet(struct world *w)
{
	static const unsigned reasons[] = { INV_LOSS_FULL, INV_LOSS_OVERWRITTEN,
					    INV_LOSS_DAMAGED };
	uint32_t s = to(STREAMS);
	unsigned n = 1 + to(8);

	w->b.zstd = to(4) == 0;
	if (!to(8))
		build_lose(&w->b, s, reasons[to(3)], 1 + to(9));
	w->mono[s] += to(300);
	build_begin(&w->b, s, w->mono[s]);
	while (n--) {
		w->mono[s] += to(40);
		build_event(&w->b, w->mono[s], to(64));
	}
	build_end(&w->b);
}

static void random_anchor(struct world *w)
{
	uint64_t now = 0;

	for (unsigned s = 0; s < STREAMS; s++)
		if (w->mono[s] > now)
			now = w->mono[s];
	if (!to(4)) /* the clock jumps: differences above 1 ms count as jumps */
		w->offset += (int64_t)to(8000000) - 4000000;
	else
		w->offset += (int64_t)to(20) - 10;
	w->b.zstd = 0;
	build_anchor(&w->b, now, 0, w->offset);
}

static void damage(struct inv_buf *file)
{
	if (to(3))
		file->data[to((unsigned)file->len)] ^= (uint8_t)(1 + to(255));
	else
		file->len -= to((unsigned)file->len / 4);
}

static void random_world(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->offset = T0;
	for (unsigned i = 0; i < FILES; i++) {
		build_head(&w->b, "a@h", 1, i);
		if (i || to(4))
			random_anchor(w);
		for (unsigned n = 5 + to(40); n; n--)
			if (to(10))
				random_packet(w);
			else
				random_anchor(w);
		w->b.zstd = 0;
		build_totals(&w->b,
			     i + 1 < FILES ? INV_END_ROTATED : INV_END_CLOSED);
		inv_buf_put(&w->files[i], w->b.file.data, w->b.file.len);
		while (!to(3))
			damage(&w->files[i]);
	}
	w->first = to(2);
}

static void release_world(struct world *w)
{
	for (unsigned i = 0; i < FILES; i++)
		inv_buf_release(&w->files[i]);
	build_release(&w->b);
}

/* Returns the index of the next event in the range. The search begins at index
 * i. */
static size_t next_in(const struct collected *c, size_t i, int64_t from,
		      int64_t until)
{
	while (i < c->n && (c->got[i].lost >= 0 || c->got[i].ts < from ||
			    c->got[i].ts >= until))
		i++;
	return i;
}

static void same_events(const struct collected *all,
			const struct collected *some, int64_t from,
			int64_t until)
{
	size_t i = next_in(all, 0, from, until);
	size_t k = next_in(some, 0, from, until);

	while (i < all->n && k < some->n) {
		assert_memory_equal(&all->got[i], &some->got[k],
				    sizeof(all->got[i]));
		i = next_in(all, i + 1, from, until);
		k = next_in(some, k + 1, from, until);
	}
	assert_int_equal(i, all->n);
	assert_int_equal(k, some->n);
}

/* `all' has the items of the whole log, and `some' has the items of the range.
 * Each loss in `all' that is within the range must also be in `some'. `some'
 * must not have more losses than `all'. */
static void losses_are_kept(const struct collected *all,
			    const struct collected *some, int64_t from,
			    int64_t until)
{
	for (int reason = 0; reason < INV_LOST_COUNT; reason++) {
		uint64_t within = 0;

		for (size_t i = 0; i < all->n; i++)
			if (all->got[i].lost == reason &&
			    all->got[i].ts >= from && all->got[i].ts < until)
				within += (uint64_t)all->got[i].n;
		assert_true(some->lost[reason] >= within);
		assert_true(some->lost[reason] <= all->lost[reason]);
	}
}

static uint64_t ranges_of(const struct world *w)
{
	const struct inv_buf *files = w->files + w->first;
	struct collected all, some;
	uint64_t sum = 0;
	uint64_t skipped;

	read_range(&all, files, FILES - w->first, INT64_MIN, INT64_MAX,
		   &skipped);
	assert_int_equal(skipped, 0);
	for (unsigned i = 0; all.n && i < 20; i++) {
		int64_t from =
			all.got[to((unsigned)all.n)].ts + (int64_t)to(3) - 1;
		int64_t until = from + (int64_t)to(to(2) ? 100 : 10000);

		if (!to(8))
			from = INT64_MIN;
		if (!to(8))
			until = INT64_MAX;
		read_range(&some, files, FILES - w->first, from, until,
			   &skipped);
		same_events(&all, &some, from, until);
		losses_are_kept(&all, &some, from, until);
		assert_true(some.n_events + skipped >= all.n_events);
		assert_int_equal(some.rotated, all.rotated);
		collect_release(&some);
		sum += skipped;
	}
	collect_release(&all);
	return sum;
}

static void random_ranges_of_random_logs(void **state)
{
	const char *given = getenv("INVISO_SEED"); /* NOLINT: one thread */
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 7;
	uint64_t skipped = 0;

	(void)state;
	print_message("# seed %u\n", seed);
	srand(seed);
	for (unsigned i = 0; i < 150; i++) {
		struct world w;

		random_world(&w);
		skipped += ranges_of(&w);
		release_world(&w);
	}
	assert_true(skipped > 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_outside_are_skipped_with_their_losses),
		cmocka_unit_test(
			losses_before_a_rotation_are_before_the_next_packet),
		cmocka_unit_test(a_body_that_is_skipped_is_not_read),
		cmocka_unit_test(
			both_times_of_a_clock_that_went_back_are_found),
		cmocka_unit_test(random_ranges_of_random_logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
