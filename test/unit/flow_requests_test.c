/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the cause of an event of a sequential trace is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flow/requests.h"

/* Processes 1 to 9 are on the node 1, 11 to 19 on the node 2. */
static struct inv_requests r;
static struct inv_cause c;
static uint64_t label;

static uint64_t node_of(uint64_t process)
{
	return process / 10 + 1;
}

static int setup(void **state)
{
	(void)state;
	inv_requests_init(&r, 0);
	inv_requests_node(&r, 1)->recorded = true;
	inv_requests_node(&r, 2)->recorded = true;
	label = 17;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	inv_requests_release(&r);
	return 0;
}

static struct inv_seq seq(enum inv_seq_kind kind, uint64_t prev, uint64_t cur,
			  uint64_t from, uint64_t to)
{
	return (struct inv_seq){ .kind = kind,
				 .label = label,
				 .prev = prev,
				 .cur = cur,
				 .from = from,
				 .from_node = node_of(from),
				 .to = to };
}

static void add(const struct inv_seq *s)
{
	assert_int_equal(inv_requests_add(&r, s, &c), 0);
	inv_requests_show(&r);
}

/* sent, received and printed each add an event. They return the id of the
 * event's cause (0: no cause is known). Ids count the events from 1. */
static uint64_t sent(uint64_t prev, uint64_t cur, uint64_t from, uint64_t to)
{
	const struct inv_seq s = seq(INV_SEQ_SEND, prev, cur, from, to);

	add(&s);
	return c.cause;
}

static uint64_t received(uint64_t prev, uint64_t cur, uint64_t from,
			 uint64_t to)
{
	const struct inv_seq s = seq(INV_SEQ_RECEIVE, prev, cur, from, to);

	add(&s);
	return c.cause;
}

static uint64_t printed(uint64_t prev, uint64_t cur, uint64_t process)
{
	const struct inv_seq s = seq(INV_SEQ_PRINT, prev, cur, process, 0);

	add(&s);
	return c.cause;
}

static void replied(uint64_t prev, uint64_t cur, uint64_t from, uint64_t to)
{
	struct inv_seq s = seq(INV_SEQ_RECEIVE, prev, cur, from, to);

	s.signal = INV_SIGNAL_SPAWN_REPLY;
	add(&s);
}

/* The example in the documentation of the module seq_trace. Here the token also
 * has the flag `send'. */
static void a_message_follows_from_its_send_event(void **state)
{
	(void)state;
	assert_int_equal(printed(0, 1, 1), 0);
	assert_true(c.certain && c.id == 1 && c.request == 1 && !c.orphan);
	assert_int_equal(sent(0, 2, 1, 12), 1);
	assert_int_equal(received(0, 2, 1, 12), 2);
	assert_int_equal(printed(2, 3, 12), 3);
	assert_int_equal(sent(2, 4, 12, 1), 3);
	assert_int_equal(received(2, 4, 12, 1), 5);
	assert_true(c.certain && c.request == 1);
	assert_int_equal(r.counts.messages, 2);
	assert_int_equal(r.counts.requests, 1);
	assert_int_equal(inv_requests_in_flight(&r), 0);
}

/* The log has no send events, so the cause of a received message is the
 * sender's last event before it sent the message. */
static void without_the_flag_send(void **state)
{
	(void)state;
	assert_int_equal(printed(0, 1, 1), 0);
	assert_int_equal(received(0, 2, 1, 12), 1);
	assert_false(c.certain);
	assert_int_equal(c.orphan, INV_ORPHAN_UNTRACED);
	assert_int_equal(printed(2, 3, 12), 2);
	assert_true(c.certain);
	assert_int_equal(received(2, 4, 12, 1), 3);
	assert_int_equal(c.request, 1);
}

/* A message is identified by its whole serial, {Prev, Cur}: two messages can
 * have the same Cur. */
static void serials_of_two_senders(void **state)
{
	(void)state;
	sent(0, 1, 1, 12);     /* 1 */
	sent(0, 2, 1, 13);     /* 2 */
	received(0, 1, 1, 12); /* 3 */
	received(0, 2, 1, 13); /* 4 */
	sent(1, 3, 12, 14);    /* 5 */
	sent(2, 3, 13, 14);    /* 6 */
	assert_int_equal(received(2, 3, 13, 14), 6);
	assert_int_equal(sent(3, 4, 14, 1), 7);
	assert_int_equal(received(1, 3, 12, 14), 5);
	assert_int_equal(sent(3, 5, 14, 1), 9);
}

/* Let N be the serial that a process received last. If the process then spawns
 * another process on its node, its next event has 16 * N + 15 as Prev. */
static void a_spawn_changes_the_serial(void **state)
{
	(void)state;
	sent(0, 1, 1, 2);
	received(0, 1, 1, 2);
	sent(1, 2, 2, 1);
	replied(1, 2, 2, 1); /* 4 */
	assert_int_equal(sent(47, 48, 1, 12), 4);
	assert_true(c.certain);
	assert_int_equal(sent(47, 49, 1, 3), 4);
	received(47, 49, 1, 3);
	sent(49, 50, 3, 1);
	replied(49, 50, 3, 1); /* 9 */
	assert_int_equal(sent(815, 816, 1, 12), 8 + 1);
	assert_int_equal(r.counts.repaired, 2);
	/* This message is not the reply to a spawn, so the serial 783 of the
	 * next event is not explained by a spawn. */
	received(47, 48, 1, 12); /* 11 */
	assert_int_equal(sent(783, 784, 12, 1), 0);
	assert_int_equal(c.orphan, INV_ORPHAN_UNTRACED);
}

/* When the serials have reached their maximum, they no longer change. */
static void serials_at_their_end(void **state)
{
	const uint64_t end = UINT64_C(0x7ffffffffffffff);

	(void)state;
	sent(end - 16, end, 1, 2);
	received(end - 16, end, 1, 2);
	sent(end, end, 2, 1);
	replied(end, end, 2, 1); /* 4 */
	/* Both messages have the same serial, and the same event is their
	 * cause. */
	assert_int_equal(sent(end - 1, end, 1, 12), 4);
	assert_false(c.certain);
	assert_int_equal(sent(end - 1, end, 1, 12), 4);
	assert_true(r.counts.repeated > 0);
	assert_int_equal(received(end - 1, end, 1, 12), 4);
	assert_false(c.certain);
	assert_int_equal(received(end - 1, end, 1, 12), 4);
	assert_int_equal(inv_requests_in_flight(&r), 0);
}

static void requests_with_the_same_label(void **state)
{
	(void)state;
	sent(0, 1, 1, 12);
	assert_int_equal(c.request, 1);
	sent(0, 1, 2, 12);
	assert_int_equal(c.request, 2);
	received(0, 1, 2, 12);
	assert_int_equal(c.request, 2);
	sent(1, 2, 12, 3);
	assert_int_equal(c.request, 2);
	received(0, 1, 1, 12);
	assert_int_equal(c.request, 1);
	sent(1, 3, 12, 3);
	assert_int_equal(c.request, 1);
}

/* A process has a token with the serial of its first request. It begins a
 * second request, and receives no message before that. inviso seq begins
 * requests in this way. */
static void a_beginning_begins_another_request(void **state)
{
	(void)state;
	assert_int_equal(inv_requests_begin(&r, 1), 0);
	assert_int_equal(sent(0, 1, 1, 12), 0);
	assert_true(c.certain && c.request == 1);
	assert_int_equal(received(0, 1, 1, 12), 1);
	assert_int_equal(sent(0, 2, 1, 12), 1);
	assert_true(c.request == 1);
	assert_int_equal(inv_requests_begin(&r, 1), 0);
	assert_int_equal(sent(0, 3, 1, 12), 0);
	assert_true(c.certain && c.request == 2 && !c.orphan);
	assert_int_equal(sent(0, 4, 1, 12), 4);
	assert_int_equal(received(0, 2, 1, 12), 3);
	assert_true(c.request == 1);
	assert_int_equal(received(0, 3, 1, 12), 4);
	assert_true(c.request == 2);
	/* A process that receives a message before its first event continues
	 * the request of the message. */
	assert_int_equal(sent(1, 5, 12, 1), 2);
	assert_int_equal(inv_requests_begin(&r, 1), 0);
	assert_int_equal(received(1, 5, 12, 1), 8);
	assert_int_equal(sent(5, 6, 1, 12), 9);
	assert_true(c.request == 1);
	assert_int_equal(r.counts.requests, 2);
}

static void another_label_is_another_request(void **state)
{
	(void)state;
	sent(0, 1, 1, 2);
	received(0, 1, 1, 2);
	label = 18;
	assert_int_equal(sent(1, 2, 2, 1), 0);
	assert_true(c.certain && !c.orphan && c.request == 2);
	label = 19;
	/* a process without earlier events */
	assert_int_equal(sent(7, 8, 3, 1), 0);
	assert_true(!c.certain && !c.orphan && c.request == 3);
}

static void why_a_cause_is_missing(void **state)
{
	(void)state;
	received(0, 1, 25, 1);
	assert_int_equal(c.orphan, INV_ORPHAN_UNTRACED);
	received(0, 1, 12, 1);
	assert_int_equal(c.orphan, INV_ORPHAN_UNTRACED);
	inv_requests_node(&r, 2)->unfinished = true;
	received(0, 2, 12, 1);
	assert_int_equal(c.orphan, INV_ORPHAN_IN_FLIGHT);
	/* The log of the node contains later events, so the missing send event
	 * is not expected any more. */
	printed(0, 5, 12);
	received(0, 3, 12, 1);
	assert_int_equal(c.orphan, INV_ORPHAN_UNTRACED);
	inv_requests_node(&r, 2)->lost = true;
	received(0, 4, 12, 1);
	assert_int_equal(c.orphan, INV_ORPHAN_LOST);
	assert_false(c.certain);
	assert_int_equal(c.cause, 0);
	assert_int_equal(r.counts.orphans[INV_ORPHAN_UNTRACED], 3);
}

/* Events of the node were lost. A lost message can have had the same serial as
 * a known message, so it is not certain that the known message is the cause. */
static void nothing_is_certain_after_a_loss(void **state)
{
	(void)state;
	sent(0, 1, 12, 1);
	received(0, 1, 12, 1);
	inv_requests_node(&r, 1)->lost = true;
	assert_int_equal(sent(1, 2, 1, 12), 2);
	assert_false(c.certain);
	/* This cause is certain, because a receive event and its send event
	 * have the same serial. */
	assert_int_equal(received(1, 2, 1, 12), 3);
	assert_true(c.certain);
	assert_int_equal(sent(9, 10, 1, 12), 0);
	assert_int_equal(c.orphan, INV_ORPHAN_LOST);
}

/* The log has no `receive' events. The cause of an event is a message that was
 * sent to the process with the serial in the event's Prev. */
static void without_the_flag_receive(void **state)
{
	(void)state;
	sent(0, 1, 1, 12);
	assert_int_equal(sent(1, 2, 12, 13), 1);
	assert_false(c.certain);
	assert_int_equal(c.request, 1);
	assert_int_equal(sent(2, 3, 13, 14), 2);
	/* Two messages to the process have the serial 2. Each of them can be
	 * the cause, so the flow assumes no cause. */
	sent(0, 2, 1, 15);
	sent(1, 2, 12, 15);
	assert_int_equal(sent(2, 3, 15, 16), 0);
	assert_int_equal(c.orphan, INV_ORPHAN_UNTRACED);
}

static void a_cause_that_is_not_shown(void **state)
{
	struct inv_seq s = seq(INV_SEQ_RECEIVE, 0, 1, 1, 12);

	(void)state;
	sent(0, 1, 1, 12);
	assert_int_equal(inv_requests_add(&r, &s, &c), 0);
	assert_int_equal(c.id, 2);
	/* this event is not shown */
	assert_int_equal(sent(1, 2, 12, 1), 1);
	assert_true(c.certain);
	assert_int_equal(received(1, 2, 12, 1), 3);
}

static void a_message_waits_for_its_send_event(void **state)
{
	const struct inv_seq a = seq(INV_SEQ_RECEIVE, 0, 2, 12, 1);
	const struct inv_seq b = seq(INV_SEQ_RECEIVE, 0, 2, 25, 1);

	(void)state;
	assert_false(inv_requests_ready(&r, &a));
	sent(0, 1, 12, 1);
	assert_false(inv_requests_ready(&r, &a));
	sent(0, 2, 12, 1);
	assert_true(inv_requests_ready(&r, &a));
	received(0, 2, 12, 1);
	/* The flow has found the send event of message a, and no longer stores
	 * it. It does not wait for this event again, because the sender's last
	 * known serial is not smaller than the serial of the message. */
	assert_true(inv_requests_ready(&r, &a));
	assert_true(inv_requests_ready(&r, &b));
	/* seq_trace:reset_trace() has set the serial of the process back. */
	printed(0, 1, 12);
	assert_false(inv_requests_ready(&r, &a));
}

static void memory_is_bounded(void **state)
{
	uint64_t n = 100000;

	(void)state;
	inv_requests_release(&r);
	inv_requests_init(&r, 1 << 20);
	for (uint64_t i = 0; i < n; i++)
		sent(0, 1, 10 * i + 3, 10 * i + 5);
	assert_true(r.counts.forgotten > n);
	assert_true(inv_requests_in_flight(&r) < 10000);
	assert_true(inv_requests_in_flight(&r) > 1000);
	/* The newest messages were not forgotten. */
	assert_int_equal(received(0, 1, 10 * (n - 1) + 3, 10 * (n - 1) + 5), n);
	received(0, 1, 3, 5);
	assert_int_equal(c.cause, 0);
	assert_int_equal(c.orphan, INV_ORPHAN_UNTRACED);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_message_follows_from_its_send_event),
		TEST(without_the_flag_send),
		TEST(serials_of_two_senders),
		TEST(a_spawn_changes_the_serial),
		TEST(serials_at_their_end),
		TEST(requests_with_the_same_label),
		TEST(a_beginning_begins_another_request),
		TEST(another_label_is_another_request),
		TEST(why_a_cause_is_missing),
		TEST(nothing_is_certain_after_a_loss),
		TEST(without_the_flag_receive),
		TEST(a_cause_that_is_not_shown),
		TEST(a_message_waits_for_its_send_event),
		TEST(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
