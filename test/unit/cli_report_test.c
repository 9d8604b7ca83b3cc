/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cmd.h"

static void lose(struct inv_member *m, const char *reason, uint64_t n)
{
	struct inv_status_lost *lost = &m->status.lost[m->status.n_lost++];

	snprintf(lost->reason, sizeof(lost->reason), "%s", reason);
	lost->n = n;
	m->status.dropped += n;
	m->status.produced += n;
}

static void record(struct inv_member *m, uint64_t n)
{
	m->status.recorded += n;
	m->status.produced += n;
}

static void assert_text(struct inv_buf *b, const char *text)
{
	inv_buf_put(b, "", 1);
	assert_string_equal((const char *)b->data, text);
	inv_buf_release(b);
}

static void losses_are_reported_by_reason(void **state)
{
	struct inv_member m = { 0 };
	struct inv_buf b = { 0 };

	(void)state;
	record(&m, 1);
	inv_report_put_counts(&b, &m);
	assert_text(&b, "1 event recorded, 0 lost");
	record(&m, 99);
	lose(&m, "full", 12);
	lose(&m, "too_big", 0);
	lose(&m, "overwritten", 1);
	inv_report_put_counts(&b, &m);
	assert_text(&b, "100 events recorded, 13 lost (12 full, 1 "
			"overwritten)");
}

static void events_after_a_limit_are_no_loss(void **state)
{
	struct inv_member m = { 0 };
	struct inv_members ms = { .v = &m, .n = 1 };
	struct inv_buf b = { 0 };

	(void)state;
	record(&m, 100);
	lose(&m, "limit", 7);
	assert_int_equal(inv_member_lost(&m), 0);
	inv_report_put_counts(&b, &m);
	assert_text(&b, "100 events recorded, 0 lost, 7 came after the limit");
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_DONE);
	lose(&m, "full", 1);
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_LOST);
}

static void filtered_events_are_reported(void **state)
{
	struct inv_member v[2] = { 0 };
	struct inv_members ms = { .v = v, .n = 2 };
	struct inv_buf b = { 0 };

	(void)state;
	record(&v[0], 10);
	strcpy(v[0].status.filter, "m:f(1)");
	strcpy(v[1].status.filter, "m:f(1)");
	inv_report_put_counts(&b, &v[1]);
	assert_text(&b, "0 events recorded, 0 lost, 0 left out by the filter");
	v[0].status.filtered = 3;
	v[1].status.filtered = 4;
	v[1].status.undecided = 2;
	inv_report_put_sum(&b, &ms);
	assert_text(&b, "10 events recorded, 0 lost, 7 left out by the filter, "
			"2 recorded that it could not decide");
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_DONE);
}

static void the_sum_of_all_nodes_adds_up(void **state)
{
	struct inv_member v[3] = { 0 };
	struct inv_members ms = { .v = v, .n = 3 };
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };

	(void)state;
	record(&v[0], 10);
	lose(&v[0], "full", 1);
	record(&v[1], 20);
	lose(&v[1], "overwritten", 2);
	lose(&v[1], "full", 4);
	lose(&v[2], "limit", 8);
	inv_report_put_sum(&b, &ms);
	assert_text(&b, "30 events recorded, 7 lost (5 full, 2 overwritten), 8 "
			"came after the limit");
	inv_report_json_sum(&j, &ms);
	assert_text(&b, "\"produced\":45,\"recorded\":30,\"lost\":7,"
			"\"reasons\":{\"full\":5,\"overwritten\":2},"
			"\"after_limit\":8,\"filtered\":0,\"undecided\":0,"
			"\"left_out\":0,\"redacted\":0,"
			"\"unknown\":0");
}

static void more_reasons_than_there_is_room_for_add_up_too(void **state)
{
	struct inv_member v[2] = { 0 };
	struct inv_members ms = { .v = v, .n = 2 };
	struct inv_buf b = { 0 };
	char name[16];

	(void)state;
	for (unsigned i = 0; i < 2 * INV_STATUS_LOST_MAX; i++) {
		snprintf(name, sizeof(name), "reason%u", i);
		lose(&v[i / INV_STATUS_LOST_MAX], name, 1);
	}
	inv_report_put_sum(&b, &ms);
	inv_buf_put(&b, "", 1);
	assert_non_null(strstr((const char *)b.data, " 32 lost ("));
	inv_buf_release(&b);
}

static void the_worst_decides_the_exit_status(void **state)
{
	struct inv_member v[2] = { 0 };
	struct inv_members ms = { .v = v, .n = 2 };

	(void)state;
	v[0].code = INV_ENOTHING;
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_DONE);
	lose(&v[1], "full", 1);
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_LOST);
	strcpy(v[1].status.why, "run_queue");
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_PROTECTED);
	strcpy(v[1].status.why, "rate");
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_PROTECTED);
	v[0].code = INV_EREFUSED;
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_REFUSED);
	v[0].code = INV_EINVAL;
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_USAGE);
	v[0].code = 0;
	strcpy(v[0].status.state, "failed");
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_FAILED);
	v[0].code = INV_ELOST;
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_UNREACHABLE);
}

static void the_reason_is_reported_in_words(void **state)
{
	struct inv_member m = { 0 };
	struct inv_buf b = { 0 };

	(void)state;
	inv_report_put_why(&b, &m);
	assert_text(&b, "");
	strcpy(m.status.why, "time");
	inv_report_put_why(&b, &m);
	assert_text(&b, "time is up");
	snprintf(m.status.text, sizeof(m.status.text), "15 s passed");
	inv_report_put_why(&b, &m);
	assert_text(&b, "15 s passed");
	m.name = "a@h";
	m.code = INV_ELOST;
	snprintf(m.err.text, sizeof(m.err.text), "a@h: a@h: it is gone");
	inv_report_put_why(&b, &m);
	assert_text(&b, "lost: it is gone");
	m.code = INV_EIO;
	inv_report_put_why(&b, &m);
	assert_text(&b, "failed: it is gone");
}

static void a_failed_session_has_its_reason(void **state)
{
	struct inv_member m = { .name = "a@h" };
	struct inv_members ms = { .v = &m, .n = 1 };
	struct inv_buf b = { 0 };

	(void)state;
	strcpy(m.status.state, "failed");
	m.status.code = INV_EREFUSED;
	snprintf(m.status.text, sizeof(m.status.text), "traced by eve");
	inv_member_fail(&m);
	inv_report_put_why(&b, &m);
	assert_text(&b, "failed: traced by eve");
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_REFUSED);
	memset(&m.status, 0, sizeof(m.status));
	m.code = 0;
	inv_member_fail(&m);
	inv_report_put_why(&b, &m);
	assert_text(&b, "failed: the node does not report why");
	assert_int_equal(inv_members_exit(&ms), INV_EXIT_FAILED);
}

static void a_lost_node_has_no_invented_counts(void **state)
{
	struct inv_member v[2] = { { .name = "a@h" }, { .name = "b@h" } };
	struct inv_members ms = { .v = v, .n = 2 };
	struct inv_buf b = { 0 };

	(void)state;
	record(&v[0], 10);
	v[0].final = true;
	v[1].code = INV_ELOST;
	snprintf(v[1].err.text, sizeof(v[1].err.text), "b@h: it is gone");
	inv_report_put_counts(&b, &v[1]);
	assert_text(&b, "nothing is known about it");
	inv_report_put_sum(&b, &ms);
	assert_text(&b, "10 events recorded, 0 lost; incomplete for 1 node");
	record(&v[1], 5);
	inv_report_put_counts(&b, &v[1]);
	assert_text(&b, "5 events recorded, 0 lost at its last answer");
	snprintf(v[1].status.log, sizeof(v[1].status.log), "/tmp/x.log");
	inv_report_put_why(&b, &v[1]);
	assert_text(&b, "lost: it is gone; if the node died, its log is "
			"/tmp/x.log");
	/* The session had stopped, so its last counts are final, and its log
	 * may have been removed. */
	v[1].final = true;
	inv_report_put_counts(&b, &v[1]);
	assert_text(&b, "5 events recorded, 0 lost");
}

static void json_escapes_texts_of_nodes(void **state)
{
	struct inv_member m = { .name = "a@h" };
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };

	(void)state;
	strcpy(m.status.why, "other");
	m.status.limit_events = 5;
	m.status.expected = -1;
	m.status.ms_left = -1;
	m.status.begun = -1;
	snprintf(m.status.text, sizeof(m.status.text), "\"\\\n");
	snprintf(m.status.name, sizeof(m.status.name), "x");
	inv_report_json_member(&j, &m);
	assert_text(
		&b,
		"\"node\":\"a@h\",\"name\":\"x\",\"owner\":\"\","
		"\"mode\":\"\",\"keep\":\"\",\"state\":\"unknown\","
		"\"why\":\"other\",\"text\":\"\\\"\\\\\\u000a\",\"log\":\"\",\"since\":0,"
		"\"specs\":[],\"filter\":\"\",\"notes\":[],\"limits\":{\"events\":5,"
		"\"bytes\":null,\"rate\":null,\"ms\":null},"
		"\"functions\":0,\"processes\":0,\"sensitive\":0,"
		"\"log_bytes\":0,\"produced\":0,\"recorded\":0,\"lost\":0,"
		"\"reasons\":{},\"after_limit\":0,\"filtered\":0,"
		"\"undecided\":0,\"left_out\":0,\"redacted\":0");
}

static void a_node_that_had_no_session_has_only_its_error(void **state)
{
	struct inv_member m = { .name = "a@h", .code = INV_ENOTHING };
	struct inv_buf b = { 0 };
	struct inv_json j = { .out = &b };

	(void)state;
	snprintf(m.err.text, sizeof(m.err.text), "no such session");
	inv_report_json_member(&j, &m);
	assert_text(&b, "\"node\":\"a@h\",\"error\":\"no such session\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_are_reported_by_reason),
		cmocka_unit_test(events_after_a_limit_are_no_loss),
		cmocka_unit_test(filtered_events_are_reported),
		cmocka_unit_test(the_sum_of_all_nodes_adds_up),
		cmocka_unit_test(
			more_reasons_than_there_is_room_for_add_up_too),
		cmocka_unit_test(the_worst_decides_the_exit_status),
		cmocka_unit_test(the_reason_is_reported_in_words),
		cmocka_unit_test(a_failed_session_has_its_reason),
		cmocka_unit_test(a_lost_node_has_no_invented_counts),
		cmocka_unit_test(json_escapes_texts_of_nodes),
		cmocka_unit_test(a_node_that_had_no_session_has_only_its_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
