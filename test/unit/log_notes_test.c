/* SPDX-License-Identifier: Apache-2.0 */
/* Tests at which place readers return the notes of a log, and what damaged
 * notes do. */
#include "unit/log_live.h"

static struct build b;
static struct collected c;

static int setup(void **state)
{
	(void)state;
	memset(&b, 0, sizeof(b));
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	collect_release(&c);
	build_release(&b);
	return 0;
}

static void one_event(uint64_t ns, unsigned n)
{
	build_begin(&b, 0, ns);
	build_event(&b, ns, n);
	build_end(&b);
}

static void one_note(uint64_t ns)
{
	build_begin(&b, 0, ns);
	build_note(&b, ns, INV_NOTE_NAME);
	build_end(&b);
}

static void read_it(void)
{
	build_totals(&b, INV_END_CLOSED);
	collect_one(&c, b.file.data, b.file.len);
}

static void assert_item(size_t i, int lost, int64_t n, int64_t ts)
{
	assert_true(i < c.n);
	assert_int_equal(c.got[i].lost, lost);
	assert_int_equal(c.got[i].n, n);
	assert_int_equal(c.got[i].ts, ts);
}

static void assert_no_loss(uint64_t n_events)
{
	assert_int_equal(collect_lost(&c), 0);
	assert_int_equal(c.n_events, n_events);
}

/* A reader returns notes with names, and the note about ends of calls, before
 * all events of a file. A note of another kind is returned at its time, because
 * it is about later events. */
static void names_of_files_come_first(void **state)
{
	(void)state;
	one_event(100, 1);
	b.zstd = 1;
	one_note(150);
	b.zstd = 0;
	one_event(200, 2);
	build_begin(&b, 3, 110); /* a stream that has no events */
	build_note(&b, 110, 77);
	build_note(&b, 120, INV_NOTE_NAME);
	build_note(&b, 130, INV_NOTE_ENDS);
	build_end(&b);
	read_it();
	assert_int_equal(c.n, 6);
	assert_item(0, -3, INV_NOTE_NAME, 100);
	assert_item(1, -3, INV_NOTE_NAME, 100);
	assert_item(2, -3, INV_NOTE_ENDS, 100);
	assert_item(3, -1, 1, 100);
	assert_item(4, -2, 77, 110);
	assert_item(5, -1, 2, 200);
	assert_no_loss(2);
	assert_string_equal(c.said, "");
}

static void live_notes_come_at_their_time(void **state)
{
	struct inv_notices ns = { 0 };
	struct inv_node node = { 0 };
	struct inv_feed *feed;
	static const enum inv_item_kind kinds[] = { INV_ITEM_EVENT,
						    INV_ITEM_NOTE,
						    INV_ITEM_EVENT };

	(void)state;
	memset(&c, 0, sizeof(c));
	one_event(100, 1);
	one_note(150);
	one_event(200, 2);
	build_totals(&b, INV_END_CLOSED);
	assert_int_equal(inv_live_new(&feed, &node, "x", SIZE_MAX, &ns, NULL),
			 0);
	assert_int_equal(inv_live_push(feed, b.file.data, b.file.len, NULL), 0);
	assert_int_equal(inv_live_end(feed, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(feed->ops->next(feed), 0);
		assert_int_equal(feed->item.kind, kinds[i]);
		assert_int_equal(feed->item.ts_ns, 100 + 50 * i);
		assert_false(feed->item.early);
	}
	assert_int_equal(feed->ops->next(feed), INV_END);
	assert_int_equal(ns.n_damages, 0);
	feed->ops->free(feed);
}

static void count_name(void *arg, struct inv_item *it)
{
	assert_int_equal(it->kind, INV_ITEM_NOTE);
	assert_int_equal(it->ev.note, INV_NOTE_NAME);
	assert_true(it->early);
	++*(int *)arg;
}

/* A live log passes a name to its callback when the bytes are pushed, before
 * any event is returned. The note is also returned as an item at its place. */
static void live_names_are_passed_on(void **state)
{
	struct inv_notices ns = { 0 };
	struct inv_node node = { 0 };
	struct inv_feed *feed;
	int names = 0;

	(void)state;
	memset(&c, 0, sizeof(c));
	one_event(100, 1);
	one_note(150);
	build_totals(&b, INV_END_CLOSED);
	assert_int_equal(inv_live_new(&feed, &node, "x", SIZE_MAX, &ns, NULL),
			 0);
	inv_live_names_to(feed, count_name, &names);
	assert_int_equal(inv_live_push(feed, b.file.data, b.file.len, NULL), 0);
	assert_int_equal(names, 1);
	assert_int_equal(feed->ops->next(feed), INV_END);
	assert_int_equal(inv_live_end(feed, NULL), 0);
	assert_int_equal(feed->ops->next(feed), 0);
	assert_int_equal(feed->item.kind, INV_ITEM_EVENT);
	assert_int_equal(feed->ops->next(feed), 0);
	assert_int_equal(feed->item.kind, INV_ITEM_NOTE);
	assert_false(feed->item.early);
	assert_int_equal(names, 1);
	feed->ops->free(feed);
}

/* A packet contains either only events or only notes. A record of the other
 * kind is reported as damage. It changes neither the items that are read nor
 * the counts. */
static void an_event_among_notes_is_reported(void **state)
{
	(void)state;
	one_event(100, 1);
	build_begin(&b, 0, 150);
	build_note(&b, 150, INV_NOTE_NAME);
	build_event(&b, 151, 9);
	b.p.n_events = 0;
	build_note(&b, 152, INV_NOTE_NAME);
	b.p.n_events = 0;
	build_end(&b);
	one_event(200, 2);
	read_it();
	assert_int_equal(c.n, 4);
	assert_item(0, -3, INV_NOTE_NAME, 100);
	assert_item(1, -3, INV_NOTE_NAME, 100);
	assert_item(2, -1, 1, 100);
	assert_item(3, -1, 2, 200);
	assert_no_loss(2);
	assert_int_equal(c.notices.n_damages, 1);
	assert_non_null(strstr(c.said, "a record is invalid: names of "
				       "processes may be missing"));
}

static void a_note_among_events_comes_in_its_place(void **state)
{
	(void)state;
	build_begin(&b, 0, 100);
	build_event(&b, 100, 1);
	build_note(&b, 110, INV_NOTE_NAME);
	build_event(&b, 120, 2);
	build_end(&b);
	read_it();
	assert_int_equal(c.n, 3);
	assert_item(1, -2, INV_NOTE_NAME, 110);
	assert_item(2, -1, 2, 120);
	assert_no_loss(2);
	assert_string_equal(c.said, "");
}

/* Writes over the last byte of the file. */
static void damage_last_packet(void)
{
	b.file.data[b.file.len - 1] ^= 0xff;
}

static void a_damaged_packet_of_notes_is_reported(void **state)
{
	(void)state;
	one_event(100, 1);
	one_note(150);
	damage_last_packet();
	one_note(160);
	one_event(200, 2);
	read_it();
	assert_int_equal(c.n, 3);
	assert_item(0, -3, INV_NOTE_NAME, 100);
	assert_no_loss(2);
	assert_int_equal(c.notices.n_damages, 1);
	assert_non_null(strstr(c.said, "names of processes may be missing"));
}

static void a_note_without_a_kind_is_reported(void **state)
{
	(void)state;
	one_event(100, 1);
	build_begin(&b, 0, 150);
	build_record(&b, 150, INV_HEAD_NOTE, 0, "", 0);
	b.p.n_events = 0;
	build_note(&b, 160, INV_NOTE_NAME);
	build_end(&b);
	read_it();
	assert_int_equal(c.n, 2);
	assert_item(0, -3, INV_NOTE_NAME, 100);
	assert_no_loss(1);
	assert_int_equal(c.notices.n_damages, 1);
}

/* The head of a packet of notes counts lost events, like the head of a packet
 * of events. */
static void losses_in_the_head_of_notes_count(void **state)
{
	(void)state;
	one_event(100, 1);
	build_lose(&b, 0, INV_LOSS_FULL, 5);
	one_note(150);
	collect_one(&c, b.file.data, b.file.len); /* without totals */
	assert_int_equal(c.n, 3);
	assert_item(2, INV_LOSS_FULL, 5, 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(names_of_files_come_first),
		T(live_notes_come_at_their_time),
		T(live_names_are_passed_on),
		T(an_event_among_notes_is_reported),
		T(a_note_among_events_comes_in_its_place),
		T(a_damaged_packet_of_notes_is_reported),
		T(a_note_without_a_kind_is_reported),
		T(losses_in_the_head_of_notes_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
