/* SPDX-License-Identifier: Apache-2.0 */
/* A log has events of all shapes. Each format prints all of them. */
#include "sink/timefmt.h"
#include "unit/sink_render.h"

/* 2023-11-14 22:13:20 UTC */
#define EPOCH INT64_C(1700000000000000000)

static void every_shape_losing(struct build *b, uint64_t after_limit)
{
	memset(b, 0, sizeof(*b));
	build_head(b, "a@h", 1, 0);
	build_anchor(b, 0, -1000, EPOCH + 1000);
	build_begin(b, 0, 1000);
	/* call m:f(1,f) with the result of {message,_} */
	RECORD(b, 1000, INV_TAG_CALL, INV_EV_MS_RESULT | TS(INV_TS_TIMESTAMP),
	       PID, 0x83, M, F, INV_T_LIST, 1, F, INV_T_END, M);
	/* return_from m:f/2 -> "x\"" */
	RECORD(b, 13345, INV_TAG_RETURN_FROM,
	       INV_EV_EXTRA | TS(INV_TS_TIMESTAMP), PID, 0x83, M, F, 2, 0x92,
	       'x', '"');
	/* a call without arguments, with the timestamp {monotonic time, 1} */
	RECORD(b, 14000, INV_TAG_CALL, TS(INV_TS_STRICT), 2, PID, 0x83, M, F,
	       INV_T_NIL);
	/* exception_from, with the timestamp monotonic time */
	RECORD(b, 15000, INV_TAG_EXCEPTION_FROM,
	       INV_EV_EXTRA | TS(INV_TS_MONOTONIC), PID, 0x83, M, F, 0, 0x82, M,
	       F);
	/* send to itself on scheduler 3, without a timestamp */
	RECORD(b, 16000, INV_TAG_SEND, INV_EV_EXTRA | INV_EV_SCHED, 3, PID, M,
	       PID);
	/* receive, 2 s and 5 us of CPU time */
	RECORD(b, 17000, INV_TAG_RECEIVE, TS(INV_TS_CPU), 0x88, 0xcf, 0xd6,
	       0xb9, 0x07, PID, F);
	RECORD(b, 18000, INV_TAG_SPAWN, INV_EV_EXTRA, PID, PID, 0x83, M, F,
	       INV_T_NIL);
	RECORD(b, 19000, INV_TAG_IN, 0, PID, 0x83, M, F, 7);
	RECORD(b, 20000, INV_TAG_OUT, 0, PID, 0);
	RECORD(b, 21000, INV_TAG_SEQ_TRACE, 0, 17, 0x85, M, 0x82, 0, 1, PID,
	       PID, F);
	/* the unknown tag f, and a term that was cut */
	RECORD(b, 22000, INV_TAG_OTHER, INV_EV_CUT, F, PID, 0x82, 1, INV_T_CUT,
	       INV_CUT_TUPLE, 1);
	RECORD(b, 23000, INV_TAG_RECEIVE, INV_EV_LIGHT, PID, INV_T_HOLE,
	       INV_CUT_OTHER, 0);
	build_end(b);
	build_lose(b, 0, INV_LOSS_FULL, 2);
	if (after_limit)
		build_lose(b, 0, INV_LOSS_LIMIT, after_limit);
	build_totals(b, INV_END_CLOSED);
}

static void every_shape(struct build *b)
{
	every_shape_losing(b, 0);
}

static void assert_format(const char *format, const char *expected)
{
	struct rendered r;
	struct build b;

	every_shape(&b);
	render_init(&r);
	render_add(&r, b.file.data, b.file.len);
	render(&r, format);
	assert_string_equal(r.out.data, expected);
	assert_int_equal(r.sum.recorded, 12);
	assert_int_equal(r.sum.entries, 13);
	assert_int_equal(inv_summary_lost(&r.sum), 2);
	render_release(&r);
	build_release(&b);
}

static void classic_has_the_tuples_that_a_tracer_gets(void **state)
{
	(void)state;
	assert_format("classic",
		      "a@h [] {trace_ts,<0.88.0>,call,{m,f,[1,f]},m,"
		      "{1700,0,1}}\n"
		      "a@h [] {trace_ts,<0.88.0>,return_from,{m,f,2},"
		      "<<120,34>>,{1700,0,13}}\n"
		      "a@h [] {trace_ts,<0.88.0>,call,{m,f,[]},{13000,1}}\n"
		      "a@h [] {trace_ts,<0.88.0>,exception_from,{m,f,0},{m,f},"
		      "14000}\n"
		      "a@h [] {trace,<0.88.0>,send,m,<0.88.0>,3}\n"
		      "a@h [] {trace_ts,<0.88.0>,'receive',f,{0,2,5}}\n"
		      "a@h [] {trace,<0.88.0>,spawn,<0.88.0>,{m,f,[]}}\n"
		      "a@h [] {trace,<0.88.0>,in,{m,f,7}}\n"
		      "a@h [] {trace,<0.88.0>,out,0}\n"
		      "a@h [] {seq_trace,17,{m,{0,1},<0.88.0>,<0.88.0>,f}}\n"
		      "a@h [] {trace,<0.88.0>,f,{1,...(1 more)}}\n"
		      "a@h [] {trace,<0.88.0>,'receive',...}\n"
		      "a@h [] {drop,2}\n");
}

#define AT "2023-11-14 22:13:20.0000"

static void text_is_for_people(void **state)
{
	(void)state;
	assert_format(
		"text", AT
		"01 a@h <0.88.0> call m:f(1,f) (m)\n" AT
		"13 a@h <0.88.0> return m:f/2 -> <<\"x\\\"\">> (12.3 us)\n" AT
		"14 a@h <0.88.0> call m:f()\n" AT
		"15 a@h <0.88.0> exception m:f/0 {m,f} (1.0 us)\n" AT
		"16 a@h <0.88.0> send m to <0.88.0>\n" AT
		"17 a@h <0.88.0> receive f\n" AT
		"18 a@h <0.88.0> spawn <0.88.0> as m:f()\n" AT
		"19 a@h <0.88.0> (m:f/0) in m:f/7\n" AT
		"20 a@h <0.88.0> (m:f/0) out 0\n" AT
		"21 a@h seq_trace 17 m {0,1} <0.88.0> to <0.88.0> f\n" AT
		"22 a@h <0.88.0> (m:f/0) f {1,...(1 more)}\n" AT
		"23 a@h <0.88.0> (m:f/0) receive ...\n" AT
		"23 a@h *** 2 events lost: full\n"
		"-- 12 events recorded, 2 lost (2 full)\n");
}

#define ON ",\"node\":\"a@h\",\"pid\":\"<0.88.0>\",\"names\":[],\"tag\":\""
#define TS0 "{\"ts\":17000000000000"

static void events_after_a_limit_are_no_loss(void **state)
{
	struct inv_buf out = { 0 };
	struct rendered r;
	struct build b;

	(void)state;
	every_shape_losing(&b, 3);
	render_init(&r);
	render_add(&r, b.file.data, b.file.len);
	render(&r, "text");
	assert_non_null(strstr((char *)r.out.data,
			       "*** 3 events came after the limit"));
	assert_int_equal(inv_summary_lost(&r.sum), 2);
	inv_summary_text(&r.sum, &out);
	inv_summary_json(&r.sum, &out);
	inv_buf_putc(&out, '\0');
	assert_string_equal(out.data,
			    "12 events recorded, 2 lost (2 full), 3 came after "
			    "the limit"
			    "{\"recorded\":12,\"entries\":14,\"lost\":2,"
			    "\"reasons\":{\"full\":2},\"after_limit\":3,"
			    "\"unended\":0,\"filtered\":0}");
	inv_buf_release(&out);
	render_release(&r);
	build_release(&b);
}

#define Q(text) "\"" text "\""
#define PROCESS(name) \
	"{\"pid\":\"<0.88.0>\",\"node\":\"a@h\",\"name\":" name "}"
/* The JSON of each event. `us' has the last five digits of the event's time in
 * ns. */
#define HEAD(us, name, tag)                                                   \
	"{\"ts\":17000000000000" us ",\"time\":\"2023-11-14T22:13:20.0000" us \
	"Z\",\"node\":\"a@h\",\"pid\":\"<0.88.0>\",\"names\":[],"             \
	"\"process\":" PROCESS(name) ",\"tag\":" Q(tag)
#define MFA(arity, args) \
	",\"module\":\"m\",\"function\":\"f\",\"arity\":" arity args
#define TOOK(us, ns)                                                         \
	",\"start\":\"2023-11-14T22:13:20.0000" us "Z\",\"duration_ns\":" ns \
	",\"self_ns\":" ns ",\"depth\":0}\n"
#define SPAWNED Q("m:f/0")

static void json_is_an_object_a_line(void **state)
{
	(void)state;
	assert_format(
		"json",
		HEAD("01000", "null", "call") ",\"payload\":[\"{m,f,[1,f]}\"],\"result\":\"m\"" MFA(
			"2", ",\"args\":[\"1\",\"f\"]}\n")
			HEAD("13345", "null", "return_from") ",\"payload\":[\"{m,f,2}\",\"<<120,34>>\"]" MFA(
				"2",
				",\"args\":[\"1\",\"f\"]") ",\"end\":\"return\",\"return\":\"<<120,34>>\"" TOOK("01000",
														"12345")
				HEAD("14000", "null",
				     "call") ",\"payload\":[\"{m,f,[]}\"]" MFA("0",
									       ",\"args\":[]}\n")
					HEAD("15000", "null", "exception_from") ",\"payload\":[\"{m,f,0}\",\"{m,f}\"]" MFA(
						"0",
						",\"args\":[]") ",\"end\":\"exception\","
								"\"exception\":{\"class\":\"m\",\"reason\":\"f\"}" TOOK(
									"14000",
									"1000")
									HEAD("16000", "null", "send") ",\"payload\":[\"m\",\"<0.88.0>\"],\"to\":" PROCESS(
										"null") ",\"scheduler\":3}\n" HEAD("17000",
														   "null",
														   "receive") ",\"payload\":[\"f\"]}\n"
		/* In this test the process spawns itself. */
		HEAD("18000", "null", "spawn") ",\"payload\":[\"<0.88.0>\",\"{m,f,[]}\"]" MFA(
			"0",
			",\"args\":[]}\n") HEAD("19000", SPAWNED,
						"in") ",\"payload\":[\"{m,f,7}\"]" MFA("7",
										       "}\n")
			HEAD("20000", SPAWNED, "out") ",\"payload\":[\"0\"]}\n" HEAD(
				"21000", SPAWNED,
				"seq_trace") ",\"label\":\"17\","
					     "\"payload\":[\"{m,{0,1},<0.88.0>,<0.88.0>,f}\"],"
					     "\"from\":" PROCESS(SPAWNED) ",\"to\":" PROCESS(SPAWNED) "}\n" HEAD("22000", SPAWNED, "f") ",\"payload\":[\"{1,...(1 more)}\"],\"truncated\":true}\n" HEAD(
						     "23000", SPAWNED,
						     "receive") ",\"payload\":[\"...\"]}\n"
								"{\"lost\":2,\"reason\":\"full\",\"ts\":1700000000000023000,"
								"\"time\":\"2023-11-14T22:13:20.000023000Z\","
								"\"node\":\"a@h\"}\n");
}

#define NODE "a\\\"\\\\@h\xef\xbf\xbd\xef\xbf\xbd"

static void json_escapes_special_characters(void **state)
{
	struct rendered r;
	struct build b = { 0 };

	(void)state;
	build_head(&b, "a\"\\@h\x01\xff", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 0);
	/* The text of a fun has a quote, a backslash, a newline and an é. */
	RECORD(&b, 0, INV_TAG_RECEIVE, 0, PID, INV_T_TEXT, 5, '"', '\\', '\n',
	       0xc3, 0xa9);
	build_end(&b);
	build_totals(&b, INV_END_CLOSED);
	render_init(&r);
	render_add(&r, b.file.data, b.file.len);
	render(&r, "json");
	assert_string_equal(
		r.out.data,
		"{\"ts\":0,\"time\":\"1970-01-01T00:00:00.000000000Z\","
		"\"node\":\"" NODE "\",\"pid\":\"<0.88.0>\",\"names\":[],"
		"\"process\":{\"pid\":\"<0.88.0>\",\"node\":\"" NODE "\","
		"\"name\":null},\"tag\":\"receive\","
		"\"payload\":[\"\\\"\\\\\\u000a\xc3\xa9\"]}\n");
	render_release(&r);
	build_release(&b);
}

/* The text format replaces hidden characters in terms and in the node's name,
 * such as U+202E, which reverses the text after it. */
static void hidden_characters_are_shown(void **state)
{
	struct rendered r;
	struct build b = { 0 };

	(void)state;
	build_head(&b, "a@h\xe2\x80\xae", 1, 0);
	build_anchor(&b, 0, 0, 0);
	build_begin(&b, 0, 0);
	RECORD(&b, 0, INV_TAG_RECEIVE, 0, PID, INV_T_TEXT, 5, 0x1b, '\\', 0xe2,
	       0x80, 0xae);
	build_end(&b);
	build_totals(&b, INV_END_CLOSED);
	render_init(&r);
	render_add(&r, b.file.data, b.file.len);
	render(&r, "text");
	assert_non_null(strstr((const char *)r.out.data, " a@h\xef\xbf\xbd "));
	assert_non_null(strstr((const char *)r.out.data, " \\e\\\\x{202E}\n"));
	render_release(&r);
	build_release(&b);
}

static int lines(const struct inv_buf *b)
{
	int n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

/* The terms of the second record are incomplete, so it counts as a loss. */
static void an_event_that_cannot_be_printed_is_a_loss(void **state)
{
	static const char *const formats[] = { "text", "json", "classic" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct rendered r;
		struct build b = { 0 };

		build_head(&b, "a@h", 1, 0);
		build_begin(&b, 0, 0);
		build_event(&b, 0, 1);
		RECORD(&b, 1, INV_TAG_CALL, 0, PID, 0x83, M, F);
		build_event(&b, 2, 1);
		build_end(&b);
		render_init(&r);
		render_add(&r, b.file.data, b.file.len);
		render(&r, formats[i]);
		assert_int_equal(r.sum.recorded, 2);
		assert_int_equal(r.sum.lost[INV_LOST_UNREADABLE], 1);
		assert_int_equal(r.sum.entries, 3);
		assert_int_equal(lines(&r.out), i ? 3 : 4);
		render_release(&r);
		build_release(&b);
	}
}

/* Checks times in nanoseconds as decimal text. The printer caches the text of
 * the second, so the test changes between seconds. */
static void times_are_numbers(void **state)
{
	static const int64_t times[] = { 0,	     -1,
					 INT64_MIN,  999999999,
					 1000000000, 1000000001,
					 EPOCH,	     EPOCH + 999999999,
					 EPOCH + 12, EPOCH + 1000000000,
					 INT64_MAX,  9 };
	struct inv_timefmt t = { .utc = true };
	struct inv_buf is = { 0 }, wanted = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		inv_buf_reset(&is);
		inv_buf_reset(&wanted);
		inv_timefmt_ns(&t, times[i], &is);
		inv_buf_i64(&wanted, times[i]);
		assert_int_equal(is.len, wanted.len);
		assert_memory_equal(is.data, wanted.data, is.len);
	}
	inv_buf_release(&is);
	inv_buf_release(&wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classic_has_the_tuples_that_a_tracer_gets),
		cmocka_unit_test(text_is_for_people),
		cmocka_unit_test(events_after_a_limit_are_no_loss),
		cmocka_unit_test(json_is_an_object_a_line),
		cmocka_unit_test(json_escapes_special_characters),
		cmocka_unit_test(hidden_characters_are_shown),
		cmocka_unit_test(an_event_that_cannot_be_printed_is_a_loss),
		cmocka_unit_test(times_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
