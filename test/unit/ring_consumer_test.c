/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/err.h"
#include "ring/consumer.h"
#include "ring/journal.h"
#include "unit/ring_build.h"

static struct ring_build b;
static struct inv_consumer c;
static struct inv_fragment f;
static struct inv_log_pos at;

static void set_up(enum inv_keep keep)
{
	memset(&at, 0, sizeof(at));
	build_open(&b, -1, 1, 4, 4096, keep, "/nowhere");
	assert_int_equal(inv_consumer_init(&c, b.ctl, b.len, 0), 0);
}

static struct inv_ring_head *ring(void)
{
	return inv_layout_ring(b.ctl, 0);
}

static struct inv_ring_slot *slot(uint64_t seq)
{
	return (struct inv_ring_slot *)((uint8_t *)b.ctl + ring()->slots_off +
					seq % 4 * 4096);
}

static int next(unsigned take)
{
	return inv_consumer_next(&c, UINT64_MAX, take, &f);
}

static void move(void)
{
	inv_journal_commit(b.ctl, 0, &f.next, &at);
	inv_consumer_advance(&c, &f.next);
}

static bool sound(void)
{
	return build_sound(f.ev, f.ev_len, f.first_event, f.n_events, f.def,
			   f.def_len, f.begin_ns);
}

static void events(unsigned n)
{
	while (n-- > 0)
		build_event(&b.p[0], 10);
}

static void an_open_packet_is_taken_only_on_request(void **state)
{
	(void)state;
	set_up(INV_KEEP_OLDEST);
	assert_int_equal(next(INV_TAKE_OPEN), INV_END);
	events(3);
	assert_int_equal(next(0), INV_END);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.n_events, 3);
	assert_true(sound());
	/* inv_consumer_next returns the same events again until the test moves
	 * the reader's position. */
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.n_events, 3);
	move();
	assert_int_equal(next(INV_TAKE_OPEN), INV_END);
	build_close(&b);
}

static void a_packet_comes_in_pieces_each_with_its_definitions(void **state)
{
	(void)state;
	set_up(INV_KEEP_OLDEST);
	events(2);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	move();
	events(5);
	inv_producer_close(&b.p[0]);
	inv_producer_drop(&b.p[0], INV_LOSS_TOO_BIG);
	inv_producer_offer(&b.p[0]);
	events(1);
	assert_int_equal(next(0), 0);
	assert_int_equal(f.seq, 1);
	assert_int_equal(f.first_event, 2);
	assert_int_equal(f.n_events, 5);
	assert_true(f.ev_off > 0);
	assert_true(sound());
	/* The second fragment is the last of the packet. It also counts the
	 * events that were lost before the next packet. */
	assert_int_equal(f.dropped[INV_LOSS_TOO_BIG], 1);
	move();
	assert_int_equal(atomic_load(&ring()->read_seq), 2);
	assert_int_equal(atomic_load(&ring()->recorded), 7);
	build_close(&b);
}

/* Writes a note of kind 1 without terms, as nif/note.c does. */
static void note(void)
{
	struct inv_producer *p = &b.p[0];
	uint64_t now = build_now();
	uint8_t *q;

	inv_producer_close(p);
	assert_int_equal(inv_producer_open(p, now), 0);
	q = p->data + 1;
	*q++ = INV_HEAD_NOTE;
	q = inv_varint_put(q, now - p->last_ns);
	*q++ = 1;
	*p->data = (uint8_t)(q - p->data - 1);
	inv_producer_commit_note(p, (uint32_t)(q - p->data), 0, now);
}

static void notes_have_fragments_without_events(void **state)
{
	(void)state;
	set_up(INV_KEEP_OLDEST);
	events(2);
	note();
	assert_int_equal(next(0), 0);
	assert_int_equal(f.n_events, 2);
	move();
	assert_int_equal(next(0), INV_END); /* the packet is open */
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.n_events, 0);
	assert_int_equal(f.first_event, 2);
	assert_int_equal(f.ev_len, slot(2)->data[0] + 1);
	move();
	assert_int_equal(next(INV_TAKE_OPEN), INV_END);
	inv_producer_close(&b.p[0]);
	events(1);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.first_event, 2);
	assert_int_equal(f.n_events, 1);
	assert_true(sound());
	move();
	assert_int_equal(atomic_load(&ring()->recorded), 3);
	assert_int_equal(atomic_load(&ring()->produced), 3);
	build_close(&b);
}

static void losses_before_a_packet_are_reported_with_it(void **state)
{
	(void)state;
	set_up(INV_KEEP_OLDEST);
	while (build_event(&b.p[0], 900))
		;
	assert_int_equal(next(0), 0);
	move();
	events(1);
	while (f.seq < 4) {
		assert_int_equal(next(0), 0);
		assert_int_equal(f.dropped[INV_LOSS_FULL], 0);
		move();
	}
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.seq, 5);
	assert_int_equal(f.dropped[INV_LOSS_FULL], 1);
	build_close(&b);
}

static void later_losses_are_not_reported_with_an_open_packet(void **state)
{
	(void)state;
	set_up(INV_KEEP_OLDEST);
	events(1);
	inv_producer_offer(&b.p[0]);
	inv_producer_drop(&b.p[0], INV_LOSS_FULL);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.dropped[INV_LOSS_FULL], 0);
	move();
	events(1);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.dropped[INV_LOSS_FULL], 1);
	build_close(&b);
}

static void the_limit_ends_a_pass(void **state)
{
	uint64_t limit;

	(void)state;
	set_up(INV_KEEP_OLDEST);
	events(1);
	limit = inv_consumer_top(&c);
	inv_producer_close(&b.p[0]);
	events(1);
	assert_int_equal(inv_consumer_next(&c, limit, INV_TAKE_OPEN, &f), 0);
	move();
	assert_int_equal(inv_consumer_next(&c, limit, INV_TAKE_OPEN, &f),
			 INV_END);
	build_close(&b);
}

static void overwritten_events_are_counted(void **state)
{
	uint64_t n = 0;

	(void)state;
	set_up(INV_KEEP_NEWEST);
	events(2);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	move(); /* from here on the producer may overwrite later events of this
		   packet */
	events(2000);
	while (!next(INV_TAKE_OPEN)) {
		assert_true(f.n_events == 0 || sound());
		n += f.n_events;
		move();
	}
	inv_consumer_release(&c);
	assert_int_equal(c.pos.overwritten, 2000 - n);
	assert_true(n > 0 && n < 2000);
	assert_int_equal(c.pos.event, 2002);
	build_close(&b);
}

static void a_held_packet_survives_any_number_of_rounds(void **state)
{
	(void)state;
	set_up(INV_KEEP_NEWEST);
	events(2000);
	assert_int_equal(next(0), 0);
	assert_true(sound());
	events(5000);
	assert_true(sound());
	move();
	inv_consumer_release(&c);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_true(f.seq > 10);
	build_close(&b);
}

/* --- large slots ------------------------------------------------------------ */

#define LARGE_PAD 1500000u

static void set_up_large(enum inv_keep keep, uint32_t n)
{
	build_n_large = n;
	set_up(keep);
	build_n_large = 0;
}

static void a_large_event_is_a_packet_of_its_own(void **state)
{
	(void)state;
	set_up_large(INV_KEEP_OLDEST, 2);
	events(2);
	assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 1);
	/* The large event closes the packet that has the two events before it.
	 * So this packet can be read without INV_TAKE_OPEN. */
	assert_int_equal(next(0), 0);
	assert_int_equal(f.n_events, 2);
	assert_true(sound());
	move();
	assert_int_equal(next(0), 0);
	assert_int_equal(f.n_events, 1);
	assert_int_equal(f.first_event, 2);
	assert_true(f.ev_len > LARGE_PAD);
	assert_true(sound());
	move();
	assert_int_equal(next(INV_TAKE_OPEN), INV_END);
	events(1);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.first_event, 3);
	assert_true(sound());
	move();
	assert_int_equal(c.pos.recorded, 4);
	build_close(&b);
}

static void large_slots_are_freed_by_reading(void **state)
{
	unsigned i;

	(void)state;
	set_up_large(INV_KEEP_OLDEST, 2);
	for (i = 0; i < 5; i++) {
		assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 1);
		assert_int_equal(build_large_event(&b.p[0], 100), 1);
		/* Both large slots are in use, so this event is dropped. */
		assert_int_equal(build_large_event(&b.p[0], 100), 0);
		assert_int_equal(next(0), 0);
		assert_true(sound());
		/* The event that was read stays in its slot until the reader's
		 * new position is in the ring. */
		assert_int_equal(build_large_event(&b.p[0], 100), 0);
		move();
		assert_int_equal(next(0), 0);
		assert_true(sound());
		move();
		while (!next(0))
			move();
	}
	assert_int_equal(c.pos.recorded, 10);
	assert_int_equal(c.pos.damaged, 0);
	build_close(&b);
}

static void an_abandoned_large_slot_is_free(void **state)
{
	int i;

	(void)state;
	set_up_large(INV_KEEP_OLDEST, 1);
	assert_int_equal(inv_producer_open_new(&b.p[0], build_now()), 0);
	i = inv_producer_claim(&b.p[0]);
	assert_int_equal(i, 0);
	assert_int_equal(inv_producer_claim(&b.p[0]), -1);
	inv_large_abandon(&b.p[0].large, 0);
	assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 1);
	build_close(&b);
}

static void a_flight_recorder_keeps_the_newest_large_events(void **state)
{
	unsigned i;

	(void)state;
	set_up_large(INV_KEEP_NEWEST, 2);
	for (i = 0; i < 3; i++)
		assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 1);
	/* The third event overwrote the slot of the first, so the first event
	 * is counted as overwritten. */
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.ev_len, 0);
	assert_int_equal(f.next.overwritten, 1);
	move();
	for (i = 1; i < 3; i++) {
		assert_int_equal(next(INV_TAKE_OPEN), 0);
		assert_int_equal(f.first_event, i);
		assert_true(sound());
		move();
	}
	assert_int_equal(next(INV_TAKE_OPEN), INV_END);
	assert_int_equal(c.pos.event, 3);
	assert_int_equal(c.pos.recorded, 2);
	build_close(&b);
}

static void a_held_large_event_is_not_overwritten(void **state)
{
	(void)state;
	set_up_large(INV_KEEP_NEWEST, 2);
	assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 1);
	assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 1);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.first_event, 0);
	/* The consumer reads the event in the first slot. So the producer
	 * overwrites the second slot, although the event in it is newer. */
	assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 1);
	assert_true(sound());
	move();
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.next.overwritten, 1);
	move();
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.first_event, 2);
	assert_true(sound());
	build_close(&b);
}

static void the_only_held_large_slot_stays_with_its_event(void **state)
{
	(void)state;
	set_up_large(INV_KEEP_NEWEST, 1);
	assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 1);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 0);
	assert_true(sound());
	move();
	inv_consumer_release(&c);
	assert_int_equal(build_large_event(&b.p[0], LARGE_PAD), 1);
	build_close(&b);
}

/* The fields of a large slot may be damaged. The consumer must never read
 * outside the slot. */
static void damage_of_large_slots_is_counted(void **state)
{
	static const struct {
		uint64_t owner;
		uint32_t ev, def, number;
	} bad[] = {
		{ INV_LARGE_OWNER(0, 2), 100, 4, 1 },
		{ INV_LARGE_OWNER(1, 1), 100, 4, 1 },
		{ INV_LARGE_OWNER(0, 1), UINT32_MAX, 4, 1 },
		{ INV_LARGE_OWNER(0, 1), 100, UINT32_MAX, 1 },
		{ INV_LARGE_OWNER(0, 1), 100, 4, 1 },
		{ INV_LARGE_OWNER(0, 1), 100, 4, 3 },
		{ INV_LARGE_OWNER(0, 1), 100, 4, UINT32_MAX },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct inv_ring_large *large;

		set_up_large(INV_KEEP_OLDEST, 2);
		build_large_event(&b.p[0], LARGE_PAD);
		large = inv_large_at(&b.p[0].large, 0);
		atomic_store(&large->owner, bad[i].owner);
		large->ev = bad[i].ev;
		large->def = bad[i].def;
		atomic_store(&slot(1)->large, bad[i].number);
		events(1);
		assert_int_equal(next(INV_TAKE_OPEN), 0);
		assert_int_equal(f.first_event, 1);
		assert_int_equal(f.next.damaged, 1);
		build_close(&b);
	}
}

/* The number and size of the large slots must fit into the mapped memory. */
static void impossible_large_slots_are_refused(void **state)
{
	const uint32_t bad[][2] = {
		{ 3, build_large_bytes },
		{ UINT32_MAX, build_large_bytes },
		{ 2, build_large_bytes + 4096 },
		{ 2, build_large_bytes + 1 },
		{ 2, INV_LARGE_BYTES_MAX + 4096 },
		{ 2, 4096 },
	};
	struct inv_larges l;

	(void)state;
	set_up_large(INV_KEEP_OLDEST, 2);
	assert_int_equal(inv_layout_check(b.ctl, b.len), 0);
	inv_larges_init(&l, b.ctl, b.len);
	assert_int_equal(l.n, 2);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		b.ctl->n_large = bad[i][0];
		b.ctl->large_bytes = bad[i][1];
		assert_int_equal(inv_layout_check(b.ctl, b.len), INV_EDAMAGED);
		inv_larges_init(&l, b.ctl, b.len - 4096);
		assert_int_equal(l.n, 0);
	}
	build_close(&b);
}

static void damage_is_skipped_and_counted(void **state)
{
	static const uint64_t words[] = {
		UINT64_MAX,
		INV_COMMIT(0, 0, 5),
		INV_COMMIT(4000, 0, 5),
		INV_COMMIT(100, 4000, 5),
		INV_COMMIT(1, 0, 1),
		INV_COMMIT(100, 1, 2),
		INV_COMMIT(10, 0, 0xffffff),
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
		set_up(INV_KEEP_OLDEST);
		events(7);
		inv_producer_close(&b.p[0]);
		events(3);
		atomic_store(&slot(1)->commit, words[i]);
		assert_int_equal(next(INV_TAKE_OPEN), 0);
		assert_int_equal(f.seq, 2);
		assert_int_equal(f.next.damaged, 7);
		assert_int_equal(f.next.recorded, 3);
		build_close(&b);
	}
}

static void a_wrong_number_or_first_event_is_damage(void **state)
{
	(void)state;
	set_up(INV_KEEP_OLDEST);
	events(7);
	inv_producer_close(&b.p[0]);
	events(3);
	slot(1)->first_event = 1ull << 60;
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.seq, 2);
	assert_int_equal(f.next.damaged, 7);
	atomic_store(&slot(2)->seq, 77);
	assert_int_equal(next(INV_TAKE_OPEN), 0);
	assert_int_equal(f.n_events, 0); /* the position moves without events */
	build_close(&b);
}

static void impossible_positions_end_the_pass(void **state)
{
	(void)state;
	set_up(INV_KEEP_OLDEST);
	events(7);
	atomic_store(&ring()->seq, UINT64_MAX);
	assert_int_equal(next(INV_TAKE_OPEN | INV_TAKE_LAST), 0);
	move();
	assert_int_equal(next(INV_TAKE_OPEN | INV_TAKE_LAST), INV_END);
	atomic_store(&ring()->seq, UINT64_MAX / 2);
	while (!next(INV_TAKE_OPEN | INV_TAKE_LAST))
		move();
	assert_true(c.pos.seq > 1000000);
	atomic_store(&ring()->read_off, UINT64_MAX);
	assert_int_equal(inv_consumer_init(&c, b.ctl, b.len, 0), 0);
	while (!next(INV_TAKE_OPEN | INV_TAKE_LAST))
		move();
	ring()->n_slots = UINT32_MAX;
	assert_int_equal(inv_consumer_init(&c, b.ctl, b.len, 0), INV_EDAMAGED);
	build_close(&b);
}

static void a_journal_is_redone_or_dropped(void **state)
{
	struct inv_log_pos log = { 2, 300, 4000, 5 }, got;
	struct inv_ring_pos pos = { 1, 2, 3, 4, 5, 6, 7 };

	(void)state;
	set_up(INV_KEEP_OLDEST);
	inv_journal_commit(b.ctl, 0, &pos, &log);
	atomic_store(&ring()->read_seq, 0);
	atomic_store(&b.ctl->log_off, 0);
	inv_journal_redo(b.ctl, 1); /* an invalid journal changes nothing */
	assert_int_equal(atomic_load(&ring()->read_seq), 0);
	atomic_store(&b.ctl->journal.valid, 1);
	inv_journal_redo(b.ctl, 1);
	assert_int_equal(atomic_load(&ring()->read_seq), 1);
	assert_int_equal(atomic_load(&ring()->read_event), 3);
	assert_int_equal(atomic_load(&ring()->damaged), 7);
	inv_log_pos_load(b.ctl, &got);
	assert_int_equal(got.file, log.file);
	assert_int_equal(got.off, log.off);
	assert_int_equal(got.bytes, log.bytes);
	assert_int_equal(got.anchors, log.anchors);
	b.ctl->journal.ring = 1;
	atomic_store(&b.ctl->journal.valid, 1);
	inv_journal_redo(b.ctl, 1);
	assert_int_equal(atomic_load(&b.ctl->journal.valid), 0);
	build_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_packet_is_taken_only_on_request),
		cmocka_unit_test(
			a_packet_comes_in_pieces_each_with_its_definitions),
		cmocka_unit_test(notes_have_fragments_without_events),
		cmocka_unit_test(losses_before_a_packet_are_reported_with_it),
		cmocka_unit_test(
			later_losses_are_not_reported_with_an_open_packet),
		cmocka_unit_test(the_limit_ends_a_pass),
		cmocka_unit_test(overwritten_events_are_counted),
		cmocka_unit_test(a_held_packet_survives_any_number_of_rounds),
		cmocka_unit_test(a_large_event_is_a_packet_of_its_own),
		cmocka_unit_test(large_slots_are_freed_by_reading),
		cmocka_unit_test(an_abandoned_large_slot_is_free),
		cmocka_unit_test(
			a_flight_recorder_keeps_the_newest_large_events),
		cmocka_unit_test(a_held_large_event_is_not_overwritten),
		cmocka_unit_test(the_only_held_large_slot_stays_with_its_event),
		cmocka_unit_test(damage_of_large_slots_is_counted),
		cmocka_unit_test(impossible_large_slots_are_refused),
		cmocka_unit_test(damage_is_skipped_and_counted),
		cmocka_unit_test(a_wrong_number_or_first_event_is_damage),
		cmocka_unit_test(impossible_positions_end_the_pass),
		cmocka_unit_test(a_journal_is_redone_or_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
