/* SPDX-License-Identifier: Apache-2.0 */
/* The text format, for people at a terminal. */
#include "unit/sink_render.h"

#include "sink/fit.h"

#define EPOCH INT64_C(1700000000000000000)
#define AT "2023-11-14 22:13:20.0000"
#define END_OF(n) "-- " n " recorded, 0 lost\n"

static void begin(struct build *b)
{
	memset(b, 0, sizeof(*b));
	build_head(b, "a@h", 1, 0);
	build_anchor(b, 0, 0, EPOCH);
	build_begin(b, 0, 0);
}

static void assert_text(struct build *b, const struct inv_sink_opts *opts,
			const char *expected)
{
	struct rendered r;

	build_end(b);
	build_totals(b, INV_END_CLOSED);
	render_init(&r);
	render_add(&r, b->file.data, b->file.len);
	render_with(&r, "text", opts);
	assert_string_equal(r.out.data, expected);
	render_release(&r);
	build_release(b);
}

static const struct inv_sink_opts plain = { .utc = 1 };

/* CALL has the terms of a call of m:f(). If the record has the flags RESULT,
 * the result of the match spec follows these terms. */
#define CALL PID, 0x83, M, F, INV_T_NIL
#define RESULT INV_EV_MS_RESULT | TS(INV_TS_TIMESTAMP)
/* [{m,f,1,[{file,"f.erl"},{line,12}]},{m,f,0,[]}] */
#define FILE_ATOM 0x43
#define LINE_ATOM 0x44
#define STACK                                                                \
	INV_T_LIST, 0x84, M, F, 1, INV_T_LIST, 0x82, FILE_ATOM, 0xb4, 'f',   \
		'.', 'e', 'r', 'l', 0x82, LINE_ATOM, 12, INV_T_END, 0x84, M, \
		F, 0, INV_T_NIL, INV_T_END

/* Defines the atoms file and line. Their numbers follow those of the atoms that
 * build_begin defines. */
static void define_atoms(struct build *b)
{
	struct inv_buf old = b->body;

	memset(&b->body, 0, sizeof(b->body));
	build_define(b, INV_DEF_ATOM, "line", 4);
	build_define(b, INV_DEF_ATOM, "file", 4);
	inv_buf_put(&b->body, old.data, old.len);
	b->p.def_len = (uint32_t)b->body.len;
	inv_buf_release(&old);
}

static void callers_and_stacks_are_readable(void **state)
{
	struct build b;

	(void)state;
	begin(&b);
	define_atoms(&b);
	RECORD(&b, 1000, INV_TAG_CALL, RESULT, CALL, 0x83, M, F, 3);
	RECORD(&b, 2000, INV_TAG_CALL, RESULT, CALL, STACK);
	RECORD(&b, 3000, INV_TAG_CALL, RESULT, CALL, 0x82, 0x83, M, F, 3,
	       STACK);
	assert_text(&b, &plain,
		    AT "01 a@h <0.88.0> call m:f() (from m:f/3)\n" AT
		       "02 a@h <0.88.0> call m:f()\n"
		       "        m:f/1 (f.erl:12)\n"
		       "        m:f/0\n" AT
		       "03 a@h <0.88.0> call m:f() (from m:f/3)\n"
		       "        m:f/1 (f.erl:12)\n"
		       "        m:f/0\n" END_OF("3 events"));
}

/* A call and its end are printed as one entry. The stack trace of the call
 * follows, one line for each function. */
static void whole_calls(void **state)
{
	static const char *const expected[] = {
		" call m:f() -> 7 (2.0 us)\n"
		"        m:f/1 (f.erl:12)\n"
		"        m:f/0\n",
		"\"return\":\"7\",\"result\":\"[{m,f,1,",
	};
	struct rendered r;
	struct build b;

	(void)state;
	begin(&b);
	define_atoms(&b);
	RECORD(&b, 1000, INV_TAG_CALL, RESULT, CALL, STACK);
	RECORD(&b, 3000, INV_TAG_RETURN_FROM, INV_EV_EXTRA, PID, 0x83, M, F, 0,
	       7);
	build_end(&b);
	for (int json = 0; json < 2; json++) {
		render_init(&r);
		r.whole = true;
		render_add(&r, b.file.data, b.file.len);
		render_with(&r, json ? "json" : "text", &plain);
		if (!strstr((const char *)r.out.data, expected[json]))
			fail_msg("%s", (const char *)r.out.data);
		render_release(&r);
	}
	build_release(&b);
}

static void a_cut_stack_is_marked(void **state)
{
	struct build b;

	(void)state;
	begin(&b);
	RECORD(&b, 1000, INV_TAG_CALL, RESULT | INV_EV_CUT, CALL, INV_T_LIST,
	       0x84, M, F, 0, INV_T_NIL, INV_T_CUT, INV_CUT_LIST, 7);
	assert_text(&b, &plain,
		    AT "01 a@h <0.88.0> call m:f()\n"
		       "        m:f/0\n"
		       "        ...(7 more)\n" END_OF("1 event"));
}

#define GC(b, at, tag) \
	RECORD(b, at, INV_TAG_GC_##tag, TS(INV_TS_TIMESTAMP), PID, INV_T_NIL)

/* The start and the end of a garbage collection are printed as one line. If the
 * start or the end is missing, the other event is printed alone. */
static void collections_are_one_line(void **state)
{
	struct build b;

	(void)state;
	begin(&b);
	GC(&b, 1000, MINOR_START);
	GC(&b, 3000, MINOR_END);
	GC(&b, 4000, MAJOR_END);
	GC(&b, 5000, MINOR_START);
	GC(&b, 6000, MAJOR_START);
	GC(&b, 7000, MINOR_END);
	GC(&b, 8000, MAJOR_START);
	RECORD(&b, 9000, INV_TAG_CALL, TS(INV_TS_TIMESTAMP), CALL);
	GC(&b, 10000, MINOR_START);
	assert_text(&b, &plain,
		    AT
		    "03 a@h <0.88.0> gc minor, 2.0 us\n" AT
		    "04 a@h <0.88.0> gc_major_end []\n" AT
		    "05 a@h <0.88.0> gc_minor_start []\n" AT
		    "06 a@h <0.88.0> gc_major_start []\n" AT
		    "07 a@h <0.88.0> gc_minor_end []\n" AT
		    "08 a@h <0.88.0> gc_major_start []\n" AT
		    "09 a@h <0.88.0> call m:f()\n" AT
		    "10 a@h <0.88.0> gc_minor_start []\n" END_OF("9 events"));
}

static void other_results_are_printed_unchanged(void **state)
{
	struct build b;

	(void)state;
	begin(&b);
	RECORD(&b, 1000, INV_TAG_CALL, RESULT, CALL, 0x83, M, F, M);
	RECORD(&b, 2000, INV_TAG_CALL, RESULT, CALL, 0x82, M, 1);
	/* The first element of this list can be part of a stack trace, but the
	 * second cannot. */
	RECORD(&b, 3000, INV_TAG_CALL, RESULT, CALL, INV_T_LIST, 0x84, M, F, 0,
	       INV_T_NIL, M, INV_T_END);
	RECORD(&b, 4000, INV_TAG_CALL, RESULT, CALL, INV_T_NIL);
	assert_text(&b, &plain,
		    AT "01 a@h <0.88.0> call m:f() ({m,f,m})\n" AT
		       "02 a@h <0.88.0> call m:f() ({m,1})\n" AT
		       "03 a@h <0.88.0> call m:f() ([{m,f,0,[]},m])\n" AT
		       "04 a@h <0.88.0> call m:f() ([])\n" END_OF("4 events"));
}

static void names_are_taken_from_events(void **state)
{
	struct build b;

	(void)state;
	begin(&b);
	RECORD(&b, 1000, INV_TAG_SPAWNED, INV_EV_EXTRA, PID, PID, 0x83, M, F,
	       INV_T_LIST, 1, F, INV_T_END);
	RECORD(&b, 2000, INV_TAG_CALL, 0, CALL);
	RECORD(&b, 3000, INV_TAG_REGISTER, 0, PID, M);
	RECORD(&b, 4000, INV_TAG_CALL, 0, CALL);
	RECORD(&b, 5000, INV_TAG_UNREGISTER, 0, PID, M);
	RECORD(&b, 6000, INV_TAG_CALL, 0, CALL);
	RECORD(&b, 7000, INV_TAG_REGISTER, 0, PID, F);
	RECORD(&b, 8000, INV_TAG_EXIT, 0, PID, M);
	RECORD(&b, 9000, INV_TAG_CALL, 0, CALL);
	assert_text(&b, &plain,
		    AT
		    "01 a@h <0.88.0> spawned by <0.88.0> to run m:f(1,f)\n" AT
		    "02 a@h <0.88.0> (m:f/2) call m:f()\n" AT
		    "03 a@h <0.88.0> (m:f/2) register m\n" AT
		    "04 a@h <0.88.0> m call m:f()\n" AT
		    "05 a@h <0.88.0> m unregister m\n" AT
		    "06 a@h <0.88.0> call m:f()\n" AT
		    "07 a@h <0.88.0> register f\n" AT
		    "08 a@h <0.88.0> f exit m\n" AT
		    "09 a@h <0.88.0> call m:f()\n" END_OF("9 events"));
}

static void colours_tell_the_parts_apart(void **state)
{
	static const struct inv_sink_opts color = { .utc = 1, .color = 1 };
	struct build b;

	(void)state;
	begin(&b);
	RECORD(&b, 1000, INV_TAG_CALL, 0, CALL);
	RECORD(&b, 2000, INV_TAG_RETURN_FROM, INV_EV_EXTRA, PID, 0x83, M, F, 0,
	       M);
	RECORD(&b, 3000, INV_TAG_EXCEPTION_FROM, INV_EV_EXTRA, PID, 0x83, M, F,
	       0, M);
	build_lose(&b, 0, INV_LOSS_FULL, 2);
#define HEAD(at)                                                       \
	"\033[2m" AT at "\033[0m\033[35m a@h \033[0m\033[33m<0.88.0> " \
	"\033[0m"
	assert_text(
		&b, &color,
		HEAD("01") "\033[32mcall \033[0mm:f()\n" HEAD("02") "\033[36mreturn \033[0mm:f/0 -> m\033[36m (1.0 us)\033[0m\n" HEAD(
			"03") "\033[31mexception \033[0mm:f/0 m\n"
			      "\033[2m" AT "03\033[0m\033[35m a@h \033[0m"
			      "\033[1;31m*** 2 events lost: full\033[0m\n"
			      "-- 3 events recorded, 2 lost (2 full)\n");
}

static void lines_fit_the_width(void **state)
{
	static const struct inv_sink_opts narrow = { .utc = 1, .width = 40 };
	static const struct inv_sink_opts wide = { .utc = 1, .width = 120 };
	static const char line[] = " a@h <0.88.0> call m:f()\n";
	char expected[200];
	struct build b;

	(void)state;
	begin(&b);
	RECORD(&b, 1000, INV_TAG_CALL, 0, CALL);
	RECORD(&b, 2000, INV_TAG_RECEIVE, 0, PID, 0x88, 1, 2, 3, 4, 5, 6, 7, 8);
	/* The line has 54 columns: the time takes 15, so the rest has 39. */
	assert_text(&b, &narrow,
		    "22:13:20.000001 a@h <0.88.0> call m:f()\n"
		    "22:13:20.000002 a@h <0.88.0> receive {1…\n" END_OF(
			    "2 events"));
	begin(&b);
	RECORD(&b, 1000, INV_TAG_CALL, 0, CALL);
	snprintf(expected, sizeof(expected), AT "01%s" END_OF("1 event"), line);
	assert_text(&b, &wide, expected);
}

static void wrap(const char *text, unsigned width, const char *expected)
{
	struct inv_buf b = { 0 }, spare = { 0 };

	inv_buf_puts(&b, text);
	inv_fit_wrap(&b, 0, width, &spare);
	inv_buf_putc(&b, 0);
	assert_string_equal(b.data, expected);
	inv_buf_release(&b);
	inv_buf_release(&spare);
}

static void long_lines_are_continued(void **state)
{
	(void)state;
	wrap("12345678901234567890\nab\n", 20, "12345678901234567890\nab\n");
	wrap("123456789012345678901\nab\n", 20,
	     "12345678901234567890\n        1\nab\n");
	wrap("1234567890123456789日本語日本語日\n", 20,
	     "1234567890123456789\n        日本語日本語\n        日\n");
	wrap("123456789012345678901", 20, "12345678901234567890\n        1");
	wrap("123456789012345678901\n", 19, "123456789012345678901\n");
}

/* Prints times relative to the first event, and relative to the previous event.
 * Calls inside calls are indented. */
static void relative_times_and_indented_calls(void **state)
{
	static const struct inv_sink_opts relative = {
		.time = INV_SINK_RELATIVE, .indent = true
	};
	static const struct inv_sink_opts delta = { .time = INV_SINK_DELTA };
	struct build b;

	(void)state;
	begin(&b);
	RECORD(&b, 1000, INV_TAG_CALL, 0, CALL);
	RECORD(&b, 3000, INV_TAG_CALL, 0, CALL);
	RECORD(&b, 4000, INV_TAG_RECEIVE, 0, PID, M);
	RECORD(&b, 5000, INV_TAG_RETURN_FROM, INV_EV_EXTRA, PID, 0x83, M, F, 0,
	       M);
	RECORD(&b, 2000005000, INV_TAG_RETURN_FROM, INV_EV_EXTRA, PID, 0x83, M,
	       F, 0, M);
	assert_text(
		&b, &relative,
		"    +0.000000 a@h <0.88.0> call m:f()\n"
		"    +0.000002 a@h <0.88.0>   call m:f()\n"
		"    +0.000003 a@h <0.88.0> receive m\n"
		"    +0.000004 a@h <0.88.0>   return m:f/0 -> m (2.0 us)\n"
		"    +2.000004 a@h <0.88.0> return m:f/0 -> m (2.000 s)\n" END_OF(
			"5 events"));
	begin(&b);
	RECORD(&b, 1000, INV_TAG_RECEIVE, 0, PID, M);
	RECORD(&b, 3000, INV_TAG_RECEIVE, 0, PID, M);
	RECORD(&b, 4000, INV_TAG_RECEIVE, 0, PID, M);
	assert_text(
		&b, &delta,
		"    +0.000000 a@h <0.88.0> receive m\n"
		"    +0.000002 a@h <0.88.0> receive m\n"
		"    +0.000001 a@h <0.88.0> receive m\n" END_OF("3 events"));
}

static void fit(const char *text, unsigned width, const char *expected)
{
	struct inv_buf b = { 0 }, spare = { 0 };

	inv_buf_puts(&b, text);
	inv_fit_lines(&b, 0, width, "R", &spare);
	inv_buf_putc(&b, 0);
	assert_string_equal(b.data, expected);
	inv_buf_release(&b);
	inv_buf_release(&spare);
}

static void lay_out(const char *text, unsigned width, const char *expected)
{
	struct inv_buf b = { 0 };

	inv_buf_puts(&b, "x\n");
	inv_buf_puts(&b, text);
	assert_int_equal(inv_fit_pretty(&b, 2, width), 0);
	inv_buf_putc(&b, 0);
	assert_string_equal(b.data + 2, expected);
	inv_buf_release(&b);
}

static void terms_are_laid_out(void **state)
{
	(void)state;
	lay_out("call m:f(1,{2,3})\n", 20, "call m:f(1,{2,3})\n");
	lay_out("call m:f(1,{2,3},[aaaa,bbbb])\n", 24,
		"call m:f(\n"
		"          1,\n"
		"          {2,3},\n"
		"          [aaaa,bbbb])\n");
	lay_out("call m:f(#r{a = [1,2,3,4,5,6,7,8,9,10],b = \"[,\\\",]\"})\n",
		40,
		"call m:f(\n"
		"          #r{\n"
		"            a = [1,2,3,4,5,6,7,8,9,10],\n"
		"            b = \"[,\\\",]\"})\n");
	/* The examples have a colour, a bracket that is not closed, and
	 * brackets that do not match. */
	lay_out("\033[32mcall\033[0m m:f(aaaaaaaa,bbbbbbbb)\n", 20,
		"\033[32mcall\033[0m m:f(\n"
		"          aaaaaaaa,\n"
		"          bbbbbbbb)\n");
	lay_out("send [aaaaaaaa,bbbbbbbb,cccc\n", 20,
		"send\n        [aaaaaaaa,bbbbbbbb,cccc\n");
	lay_out("send aaaaaaaa],bbbbbbbb),cccc\n", 20,
		"send\n        aaaaaaaa],bbbbbbbb),cccc\n");
	lay_out("aaaaaaaaaaaa 'a,(b' <<\"a,[a\">>\nbb [cc]\n", 20,
		"aaaaaaaaaaaa 'a,(b'\n        <<\"a,[a\">>\nbb [cc]\n");
	/* A tuple begins with its bracket. If its first element is an atom that
	 * fits, the atom is on the line of the bracket. Otherwise, and after
	 * the bracket of a record or map, a new line begins. */
	lay_out("return m:f/1 -> {reply,{ok,[1,2,3,4]},#{a => bbbb}}\n", 26,
		"return m:f/1 -> {reply,\n"
		"          {ok,[1,2,3,4]},\n"
		"          #{a => bbbb}}\n");
	lay_out("send {:\"$gen_call\", {#PID<0.1.2>, :x}} to :a\n", 30,
		"send {:\"$gen_call\",\n"
		"          {#PID<0.1.2>, :x}}\n        to :a\n");
	lay_out("send {'a,b',<0.1.2>,{1,aaaaaaaaa,[1,2,3]}} to a\n", 27,
		"send {'a,b',\n          <0.1.2>,\n          {\n"
		"            1,\n            aaaaaaaaa,\n"
		"            [1,2,3]}} to a\n");
	lay_out("a -> %{a, 1}, %A{b, 1}, {aaaaaaaaaaaa,b}\n", 16,
		"a -> %{a, 1},\n        %A{\n          b,\n          1}, {\n"
		"          aaaaaaaaaaaa,\n          b}\n");
	/* A date in Elixir's syntax is never broken into lines. ~c"..." is
	 * treated as quoted text. ~a[ does not begin a date. */
	lay_out("aaaaaa [a: ~U[2026-11-25 22:00:00Z], b: ~D[x] ]\n", 30,
		"aaaaaa [\n          a: ~U[2026-11-25 22:00:00Z],\n"
		"          b: ~D[x] ]\n");
	lay_out("aaaaaa ~D[1,2 aaaaaaaa ~a[bb,cc]\n", 20,
		"aaaaaa ~D[1,2\n        aaaaaaaa ~a[\n          bb,\n          cc]\n");
	/* A line is not broken within a duration. */
	lay_out("return m:f/1 -> {slept,2} (2.76 ms)\n", 28,
		"return m:f/1 -> {slept,2}\n        (2.76 ms)\n");
	lay_out("a (b (c) 'd)') call m:ffffff(1) (from m:f/2)\n", 24,
		"a (b (c) 'd)') call\n        m:ffffff(1)\n"
		"        (from m:f/2)\n");
	lay_out("[]aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{}\n", 20,
		"[]aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{}\n");
}

#define TEXT 0x98, 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a'
#define PAIR 0x82, TEXT, TEXT

/* Long events are shortened: first the nested terms, and then the lines in the
 * middle. */
static void long_events_are_shortened(void **state)
{
	const struct inv_sink_opts opts = { .utc = 1,
					    .width = 40,
					    .pretty = true,
					    .one_node = true,
					    .lines = 4 };
	struct build b;

	(void)state;
	begin(&b);
	RECORD(&b, 1000, INV_TAG_CALL, TS(INV_TS_TIMESTAMP), PID, 0x83, M, F,
	       INV_T_LIST, 0x83, M, PAIR, PAIR, 0x83, M, PAIR, PAIR, INV_T_END);
	RECORD(&b, 2000, INV_TAG_CALL, TS(INV_TS_TIMESTAMP), PID, 0x83, M, F,
	       INV_T_LIST, TEXT, TEXT, 0x91, 'c', 0x91, 'd', 0x91, 'e', 0x91,
	       'f', INV_T_END);
	assert_text(&b, &opts,
		    "22:13:20.000001 <0.88.0> call m:f(\n"
		    "          {m,{...},{...}},\n"
		    "          {m,{...},{...}})\n"
		    "22:13:20.000002 <0.88.0> call m:f(\n"
		    "          <<\"aaaaaaaa\">>,\n"
		    "        ... 4 more lines\n"
		    "          <<\"f\">>)\n" END_OF("2 events"));
}

static void a_column_is_not_a_byte(void **state)
{
	(void)state;
	fit("abc\n", 3, "abc\n");
	fit("abcd\nab\nabcdefgh\n", 3, "ab…R\nab\nab…R\n");
	fit("äöü\n", 3, "äöü\n");
	fit("äöüß", 3, "äö…R");
	fit("日本語\n", 6, "日本語\n");
	fit("日本語\n", 5, "日本…R\n");
	fit("日本語\n", 4, "日…R\n");
	fit("e\u0301e\u0301\n", 2, "e\u0301e\u0301\n");
	fit("\033[31mabc\033[0m\n", 3, "\033[31mabc\033[0m\n");
	fit("\033[31mabcd\033[0m\n", 3, "\033[31mab…R\n");
	fit("ab", 1, "…R");
	fit("\033[31", 3, "\033[31");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_and_stacks_are_readable),
		cmocka_unit_test(whole_calls),
		cmocka_unit_test(a_cut_stack_is_marked),
		cmocka_unit_test(collections_are_one_line),
		cmocka_unit_test(other_results_are_printed_unchanged),
		cmocka_unit_test(names_are_taken_from_events),
		cmocka_unit_test(colours_tell_the_parts_apart),
		cmocka_unit_test(lines_fit_the_width),
		cmocka_unit_test(a_column_is_not_a_byte),
		cmocka_unit_test(long_lines_are_continued),
		cmocka_unit_test(terms_are_laid_out),
		cmocka_unit_test(long_events_are_shortened),
		cmocka_unit_test(relative_times_and_indented_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
