/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of the offset between two clocks, and clocks of several nodes. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flow/clocks.h"

#define MS INT64_C(1000000)
#define S (1000 * MS)
#define NOW (INT64_C(1700000000) * S)

static struct inv_offset o;
static int64_t low, high;

static int setup(void **state)
{
	(void)state;
	memset(&o, 0, sizeof(o));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	inv_offset_release(&o);
	return 0;
}

static void upper(int64_t at, int64_t offset)
{
	assert_int_equal(inv_offset_add(&o, at, offset, true), 0);
}

static void lower(int64_t at, int64_t offset)
{
	assert_int_equal(inv_offset_add(&o, at, offset, false), 0);
}

static void build(void)
{
	assert_int_equal(inv_offset_build(&o), 0);
}

static void at(int64_t ts)
{
	inv_offset_at(&o, ts, &low, &high);
}

static void messages_both_ways_bound_the_offset(void **state)
{
	(void)state;
	lower(NOW + 2 * MS, 3 * S - 50);
	upper(NOW, 3 * S + 70);
	build();
	/* A message gives a bound for the time of the message. For another
	 * time, the bound is weaker by 500 ppm of the difference between that
	 * time and the time of the message. */
	at(NOW);
	assert_int_equal(high, 3 * S + 70);
	assert_int_equal(low, 3 * S - 50 - 1000);
	at(NOW + 2 * MS);
	assert_int_equal(low, 3 * S - 50);
	assert_int_equal(high, 3 * S + 70 + 1000);
	assert_false(inv_offset_agrees(&o));
	assert_int_equal(o.steps, 0);
	/* 1000 s after the messages, and 1000 s before them */
	at(NOW + 1000 * S);
	assert_in_range(high - 3 * S, 500 * MS, 501 * MS);
	at(NOW - 1000 * S);
	assert_in_range(3 * S - low, 500 * MS, 501 * MS);
}

static void one_way_gives_one_bound(void **state)
{
	(void)state;
	at(NOW);
	assert_int_equal(low, -INV_OFFSET_NONE);
	assert_int_equal(high, INV_OFFSET_NONE);
	assert_int_equal(inv_offset_middle(low, high), 0);
	upper(NOW, 70);
	upper(NOW + S, -40);
	build();
	at(NOW);
	assert_int_equal(low, -INV_OFFSET_NONE);
	assert_int_equal(high, 70);
	assert_int_equal(inv_offset_middle(low, high), 0);
	at(NOW + S);
	assert_int_equal(high, -40);
	assert_int_equal(inv_offset_middle(low, high), -40);
	assert_int_equal(inv_offset_middle(5, INV_OFFSET_NONE), 5);
	assert_int_equal(inv_offset_middle(-5, INV_OFFSET_NONE), 0);
	assert_int_equal(inv_offset_width(&o), INV_OFFSET_NONE);
}

/* If a clock was set, the bounds from later messages contradict the bounds from
 * earlier messages. This counts as a step: later messages begin a new
 * interval. */
static void a_step_begins_anew(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		int64_t offset = i < 5 ? 0 : 3600 * S;

		upper(NOW + i * S, offset + 50);
		lower(NOW + i * S + MS, offset - 50);
	}
	build();
	assert_int_equal(o.steps, 1);
	at(NOW + 4 * S);
	assert_true(low <= 0 && high >= 0 && high < MS);
	at(NOW + 5 * S + 2 * MS);
	assert_true(low <= 3600 * S && high >= 3600 * S);
	assert_true(low > 3599 * S);
}

static void seen_from_the_other_clock(void **state)
{
	struct inv_offset r;

	(void)state;
	upper(NOW, 3 * S + 70);
	lower(NOW + MS, 3 * S - 50);
	assert_int_equal(inv_offset_reverse(&r, &o), 0);
	assert_int_equal(inv_offset_build(&r), 0);
	inv_offset_at(&r, NOW + 3 * S, &low, &high);
	assert_in_range(-(low), 3 * S + 70, 3 * S + 75);
	assert_true(high >= -3 * S + 50 && high < -3 * S + 1000);
	inv_offset_release(&r);
}

static int64_t hostile(void)
{
	static const int64_t odd[] = { INT64_MIN,
				       INT64_MAX,
				       0,
				       1,
				       -1,
				       INV_OFFSET_MAX,
				       -INV_OFFSET_MAX,
				       INV_OFFSET_TIME_MAX,
				       -INV_OFFSET_TIME_MAX,
				       INV_OFFSET_NONE };
	uint64_t x = (uint64_t)random() << 40 ^ (uint64_t)random() << 20 ^
		     (uint64_t)random();

	return random() % 4 ? (int64_t)(x >> random() % 64) :
			      odd[(size_t)random() % 10];
}

/* The times are random numbers. No calculation may overflow (UBSan would report
 * it), and low <= high must be true. */
static void hostile_numbers(void **state)
{
	(void)state;
	srandom(7);
	for (int i = 0; i < 2000; i++) {
		struct inv_offset r = { 0 };
		int n = (int)(random() % 20);

		for (int k = 0; k < n; k++)
			assert_int_equal(inv_offset_add(&o, hostile(),
							hostile(),
							random() % 2),
					 0);
		assert_int_equal(inv_offset_reverse(&r, &o), 0);
		assert_int_equal(inv_offset_build(&r), 0);
		build();
		for (int k = 0; k < 20; k++) {
			at(hostile());
			/* Each of the two bounds may be rounded by 1 ns. */
			assert_true(low <= high + 2);
			inv_offset_middle(low, high);
			inv_offset_at(&r, hostile(), &low, &high);
			assert_true(low <= high + 2);
		}
		inv_offset_width(&o);
		inv_offset_agrees(&o);
		inv_offset_release(&r);
		inv_offset_release(&o);
	}
}

/* Returns the true offset of a clock whose rate changes, in ns, at the time NOW
 * + t ns. */
static int64_t truth(int64_t t)
{
	const int64_t half = 300 * S;

	/* the clock is 100 ppm too fast at first, and 80 ppm too slow later */
	return 7200 * S +
	       (t < half ? t / 10000 : half / 10000 - (t - half) / 12500);
}

static int64_t delay(void)
{
	int64_t d = 40000;

	while (random() % 3)
		d += random() % 150000;
	return d;
}

static void the_truth_is_always_inside(void **state)
{
	const int messages = 300000;
	int64_t narrowest = INT64_MAX;

	(void)state;
	srandom(1);
	for (int i = 0; i < messages; i++) {
		int64_t t = 600 * S / messages * i;

		if (random() % 2)
			upper(NOW + t, truth(t) + delay());
		else
			lower(NOW + t, truth(t) - delay());
	}
	/* There are too many messages to keep the bounds of each of them. Only
	 * the narrowest bounds are kept. */
	build();
	assert_true(o.n <= INV_OFFSET_BOUNDS);
	assert_int_equal(o.uppers + o.lowers, messages);
	assert_int_equal(o.steps, 0);
	for (int i = 0; i < 60000; i++) {
		int64_t t = 10 * MS * i;

		at(NOW + t);
		assert_true(low <= truth(t) && truth(t) <= high);
		if (high - low < narrowest)
			narrowest = high - low;
		if (i % 100 < 99)
			continue;
		/* The narrowest interval of each second is at most as wide as
		 * two of the shortest round trips. */
		assert_in_range(narrowest, 2 * 40000, 4 * 40000);
		narrowest = INT64_MAX;
	}
}

/* --- clocks --------------------------------------------------------------- */

static struct inv_clocks c;
#define NODES 12u
static struct inv_node nodes[NODES];

static void event(uint32_t node, enum inv_seq_kind kind, uint64_t serial,
		  int64_t ts)
{
	const struct inv_item it = { .node = &nodes[node], .ts_ns = ts };
	const struct inv_seq s = { .kind = kind, .cur = serial };

	assert_int_equal(inv_clocks_add(&c, &it, &s), 0);
}

static void message(uint32_t from, int64_t sent, uint32_t to, int64_t received)
{
	static uint64_t serial;

	serial++;
	/* For every other message, the flow gets the receive event before the
	 * send event. The result must not depend on this. */
	if (serial % 2)
		event(from, INV_SEQ_SEND, serial, sent);
	event(to, INV_SEQ_RECEIVE, serial, received);
	if (serial % 2 == 0)
		event(from, INV_SEQ_SEND, serial, sent);
}

/* Adds a message from node i to node j, and a message from j to i. The clock of
 * j is `ahead' ns ahead of the clock of i, and each message takes `wait' ns. */
static void both_ways(uint32_t i, uint32_t j, int64_t ahead, int64_t base,
		      int64_t wait)
{
	message(i, NOW + base, j, NOW + base + ahead + wait);
	message(j, NOW + base + ahead + 2 * wait, i, NOW + base + 3 * wait);
}

/* The messages between node 2 and the nodes 0 and 1 are quicker than those
 * between 0 and 1. So the offset between the nodes 0 and 1 is found through
 * node 2. Nodes 3 and 4 have messages only to each other. */
static void the_narrowest_path(void **state)
{
	static char names[5][4] = { "a@h", "b@h", "c@h", "d@h", "e@h" };
	struct inv_clock_interval i;

	(void)state;
	for (uint32_t n = 0; n < 5; n++)
		nodes[n] = (struct inv_node){ .name = names[n], .number = n };
	assert_int_equal(inv_clocks_init(&c, 5), 0);
	both_ways(0, 1, 60 * S, 0, MS);
	both_ways(0, 2, -30 * S, 0, MS / 50);
	both_ways(2, 1, 90 * S, -30 * S, MS / 50);
	both_ways(3, 4, 0, 0, MS);
	assert_int_equal(inv_clocks_solve(&c), 0);
	assert_true(c.corrects);
	assert_int_equal(c.nodes[1].next, 2);
	assert_int_equal(c.nodes[1].reference, 0);
	assert_int_equal(c.nodes[2].next, 0);
	assert_int_equal(c.nodes[3].reference, 3);
	assert_int_equal(c.nodes[4].reference, 3);
	assert_true(c.nodes[4].agrees);
	assert_true(inv_clocks_interval(&c, 1, NOW + 60 * S, &i));
	assert_true(i.low <= -60 * S && -60 * S <= i.high);
	assert_true(i.high - i.low < MS / 5);
	assert_true(i.low <= i.estimate && i.estimate <= i.high);
	assert_int_equal(inv_clocks_correct(&c, 1, NOW + 60 * S),
			 NOW + 60 * S + i.estimate);
	assert_int_equal(inv_clocks_correct(&c, 4, NOW), NOW);
	assert_int_equal(inv_clocks_correct(&c, 0, NOW), NOW);
	assert_false(inv_clocks_interval(&c, 0, NOW, &i));
	inv_clocks_release(&c);
}

/* The clocks of real nodes mostly agree; then no time is changed. */
static void clocks_that_agree(void **state)
{
	(void)state;
	assert_int_equal(inv_clocks_init(&c, 5), 0);
	both_ways(0, 1, 1000, 0, MS);
	event(2, INV_SEQ_PRINT, 1, NOW);
	assert_int_equal(inv_clocks_solve(&c), 0);
	assert_false(c.corrects);
	assert_int_equal(inv_clocks_correct(&c, 1, NOW), NOW);
	assert_int_equal(c.nodes[2].next, 2);
	assert_string_equal(c.nodes[2].name, "c@h");
	assert_null(c.nodes[3].name);
	inv_clocks_release(&c);
}

/* Each of many clocks is 36 years ahead of the previous one. The sum of these
 * differences, in ns, does not fit into 64 bits. */
static void a_long_way_between_clocks(void **state)
{
	static char name[] = "a@h";
	struct inv_clock_interval i;

	(void)state;
	for (uint32_t n = 0; n < NODES; n++)
		nodes[n] = (struct inv_node){ .name = name, .number = n };
	assert_int_equal(inv_clocks_init(&c, NODES), 0);
	for (uint32_t n = 0; n + 1 < NODES; n++)
		both_ways(n, n + 1, INV_OFFSET_MAX - S, 0, MS);
	assert_int_equal(inv_clocks_solve(&c), 0);
	assert_true(inv_clocks_interval(&c, NODES - 1, NOW, &i));
	assert_int_equal(i.low, -INV_OFFSET_NONE);
	assert_int_equal(i.high, INV_OFFSET_NONE);
	inv_clocks_release(&c);
}

/* Between 100 nodes there are 4950 offsets. */
static void few_messages_take_little_memory(void **state)
{
	static struct inv_offset many[4950];
	struct mallinfo2 before = mallinfo2(), after;

	(void)state;
	for (uint32_t i = 0; i < 4950; i++)
		assert_int_equal(inv_offset_add(&many[i], NOW, 70, true), 0);
	after = mallinfo2();
	assert_in_range(after.arena + after.hblkhd - before.arena -
				before.hblkhd,
			0, 8 << 20);
	for (uint32_t i = 0; i < 4950; i++)
		inv_offset_release(&many[i]);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(messages_both_ways_bound_the_offset),
		TEST(one_way_gives_one_bound),
		TEST(a_step_begins_anew),
		TEST(seen_from_the_other_clock),
		TEST(hostile_numbers),
		TEST(the_truth_is_always_inside),
		TEST(the_narrowest_path),
		TEST(clocks_that_agree),
		TEST(a_long_way_between_clocks),
		TEST(few_messages_take_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
