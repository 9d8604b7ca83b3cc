/* SPDX-License-Identifier: Apache-2.0 */
#include "match/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/match_build.h"

/* Some specs of each kind, with the results that a VM has returned. The suite
 * test/ct/inviso_match_SUITE.erl compares many more specs with a live VM. */
struct example {
	const char *spec;
	const char *args;
	const char *answer;
};

static void check(const struct example *x, size_t n, unsigned otp)
{
	for (; n > 0; n--, x++) {
		const char *got = match_answer(x->spec, x->args, otp);

		if (strcmp(got, x->answer) != 0)
			fail_msg("%s over %s: %s, not %s", x->spec, x->args,
				 got, x->answer);
	}
}

#define CHECK(examples, otp) \
	check(examples, sizeof(examples) / sizeof(*(examples)), otp)

static void heads_take_arguments_apart(void **state)
{
	static const struct example examples[] = {
		{ "[{'_',[],[]}]", "[a]", "true" },
		{ "[{'$1',[],[{message,'$1'}]}]", "[a,b]", "[a,b]" },
		{ "[{['$1'],[],[{message,'$1'}]}]", "[a,b]", "no match" },
		{ "[{['$2','$1'],[],[{message,'$$'}]}]", "[a,b]", "[b,a]" },
		{ "[{['$1','$1'],[],[]}]", "[{a},{a}]", "true" },
		{ "[{['$1','$1'],[],[]}]", "[1,1.0]", "no match" },
		{ "[{{'$1',b},[],[{message,'$1'}]}]", "[a,b]", "a" },
		{ "[{[[a|'$1'],{'$2'}],[],[{message,'$$'}]}]", "[[a|b],{c}]",
		  "[b,c]" },
		{ "[{[#{k=>'$1'}],[],[{message,'$1'}]}]", "[#{k=>v,l=>w}]",
		  "v" },
		{ "[{[#{k=>v,m=>'_'}],[],[]}]", "[#{k=>v,l=>w}]", "no match" },
		{ "[{[],[],[{message,'$_'}]}]", "[]", "[]" },
		{ "[{['$200',[\"ab\"]],[],[{message,'$200'}]}]", "[x,[\"ab\"]]",
		  "x" },
	};

	(void)state;
	CHECK(examples, 25);
}

static void guards_fail_and_bodies_do_not(void **state)
{
	static const struct example examples[] = {
		{ "[{'_',[{hd,a}],[]}]", "[]", "no match" },
		{ "[{'_',[1],[]}]", "[]", "no match" },
		{ "[{'_',[],[{message,{hd,a}}]}]", "[]", "'EXIT'" },
		{ "[{'_',[{'and',true,1}],[]}]", "[]", "no match" },
		{ "[{'_',[],[{message,{'and',false,1}}]}]", "[]", "'EXIT'" },
		{ "[{'_',[{'orelse',true,{hd,a}}],[]}]", "[]", "true" },
		{ "[{'_',[],[{message,{'andalso',true,17}}]}]", "[]", "17" },
		{ "[{'_',[],[{message,{'andalso',1,true}}]}]", "[]", "'EXIT'" },
		{ "[{'_',[false],[]},{'_',[],[{message,second}]}]", "[]",
		  "second" },
	};

	(void)state;
	CHECK(examples, 25);
}

static void actions_have_their_results(void **state)
{
	static const struct example examples[] = {
		{ "[{'_',[],[{return_trace},{exception_trace}]}]", "[]",
		  "true +return_trace +exception_trace" },
		{ "[{'_',[],[{message,a},{message,b}]}]", "[]", "b" },
		{ "[{'_',[],[{message,{{{message,a},{message,b}}}}]}]", "[]",
		  "{true,true}" },
		{ "[{'_',[],[{message,a},[{message,b}|{message,c}]]}]", "[]",
		  "c" },
		{ "[{'_',[],[{{{message,a},{message,b}}}]}]", "[]", "a" },
		{ "[{'_',[],[{message,{caller}}]}]", "[]", "undefined" },
		{ "[{'_',[],[{message,{silent,true}}]}]", "[]", "true" },
		{ "[{'_',[],[{message,{enable_trace,call}}]}]", "[]", "true" },
		{ "[{'_',[],[{message,{enable_trace,x}}]}]", "[]", "'EXIT'" },
		{ "[{'_',[],[{message,{trace,[call],[]}}]}]", "[]", "false" },
		{ "[{'_',[],[{message,{trace,[x],[]}}]}]", "[]", "'EXIT'" },
		{ "[{'_',[],[{message,{enable_trace,{self},call}}]}]", "[]",
		  "true" },
		{ "[{'_',[],[{message,{disable_trace,{self},call}}]}]", "[]",
		  "true" },
		{ "[{'_',[],[{message,{enable_trace,{hd,[{self}]},call}}]}]",
		  "[]", "true" },
		{ "[{'_',[],[{message,{enable_trace,{self},x}}]}]", "[]",
		  "'EXIT'" },
		{ "[{'_',[],[{message,{trace,{self},[call],[]}}]}]", "[]",
		  "false" },
		{ "[{'_',[],[{message,{trace,{self},[x],[]}}]}]", "[]",
		  "'EXIT'" },
		/* Whether the process <0.1.2> exists is not known, so the
		 * result is not known either. */
		{ "[{['$1'],[],[{message,{enable_trace,'$1',call}}]}]",
		  "[<0.1.2>]", "code -20" },
		{ "[{['$1'],[],[{message,{trace,'$1',[call],[]}}]}]",
		  "[<0.1.2>]", "code -20" },
		{ "[{'_',[],[{message,{set_tcw,1}}]}]", "[]", "0" },
		{ "[{'_',[],[{message,{set_tcw,-1}}]}]", "[]", "'EXIT'" },
		{ "[{'_',[],[{message,{set_seq_token,send,true}}]}]", "[]",
		  "{send,false}" },
		{ "[{'_',[],[{message,{get_seq_token}}]}]", "[]", "[]" },
	};

	(void)state;
	CHECK(examples, 25);
}

/* Appends [['$1',...,'$n']], or [#{1 => '$1',...}] if `map' is true. If
 * `variable' is empty, appends numbers in place of the variables. */
static void many(struct inv_buf *b, unsigned n, bool map, const char *variable)
{
	inv_buf_puts(b, map ? "[#{" : "[[");
	for (unsigned i = 1; i <= n; i++) {
		if (map)
			inv_buf_printf(b, "%u=>", i);
		inv_buf_printf(b, "%s%u%s%s", variable, i, *variable ? "'" : "",
			       i < n ? "," : "");
	}
	inv_buf_puts(b, map ? "}]" : "]]");
}

static const char *many_answer(unsigned n, bool map)
{
	struct inv_buf spec = { 0 }, args = { 0 };
	const char *answer;

	inv_buf_puts(&spec, "[{");
	many(&spec, n, map, "'$");
	inv_buf_printf(&spec, ",[],[{message,[{length,'$$'},'$%u']}]}]", n);
	inv_buf_putc(&spec, '\0');
	many(&args, n, map, "");
	inv_buf_putc(&args, '\0');
	answer = match_answer((const char *)spec.data, (const char *)args.data,
			      25);
	inv_buf_release(&spec);
	inv_buf_release(&args);
	return answer;
}

static void specs_have_many_variables(void **state)
{
	(void)state;
	assert_string_equal(many_answer(415, true), "[415,415]");
	assert_string_equal(many_answer(1000, false), "[1000,1000]");
	assert_string_equal(many_answer(1020, true), "[1020,1020]");
	/* The spec has one more variable than the limit. */
	assert_string_equal(many_answer(1025, false), "code -10");
}

static void integers_have_any_size(void **state)
{
	static const struct example examples[] = {
		{ "[{['$1'],[],[{message,{'+','$1',1}}]}]",
		  "[9223372036854775807]", "9223372036854775808" },
		{ "[{['$1'],[],[{message,{'-','$1',1}}]}]",
		  "[9223372036854775808]", "9223372036854775807" },
		{ "[{['$1'],[],[{message,{'*','$1','$1'}}]}]",
		  "[-9223372036854775808]",
		  "85070591730234615865843651857942052864" },
		{ "[{['$1'],[],[{message,{'div','$1',-1}}]}]",
		  "[-9223372036854775808]", "9223372036854775808" },
		{ "[{['$1'],[],[{message,{'rem','$1',7}}]}]",
		  "[-100000000000000000000]", "-2" },
		{ "[{['$1'],[],[{message,{'bsl','$1',64}}]}]", "[-1]",
		  "-18446744073709551616" },
		{ "[{['$1'],[],[{message,{'bsr','$1',1000}}]}]",
		  "[-18446744073709551616]", "-1" },
		{ "[{['$1'],[],[{message,{'band','$1',-2}}]}]",
		  "[36893488147419103233]", "36893488147419103232" },
		{ "[{['$1'],[],[{message,{'bnot','$1'}}]}]",
		  "[18446744073709551615]", "-18446744073709551616" },
		{ "[{['$1'],[],[{message,{'div','$1',0}}]}]", "[1]", "'EXIT'" },
		{ "[{['$1'],[],[{message,{trunc,'$1'}}]}]", "[1.0e22]",
		  "10000000000000000000000" },
		{ "[{['$1'],[],[{message,{float,'$1'}}]}]",
		  "[428654966685883400000]", "4.2865496668588343e20" },
		{ "[{['$1'],[],[{message,{'bsl',1,'$1'}}]}]", "[100000000]",
		  "'EXIT'" },
		/* A result with more bits than the limit is an error. */
		{ "[{['$1'],[],[{message,{'bsl',1,'$1'}}]}]", "[1000000]",
		  "code -10" },
	};

	(void)state;
	CHECK(examples, 25);
}

static void releases_differ(void **state)
{
	static const struct example in_25[] = {
		{ "[{['$1'],[],[{message,{'=:=','$1',0.0}}]}]", "[-0.0]",
		  "true" },
		{ "[{['$1'],[],[{message,{abs,'$1'}}]}]", "[-0.0]", "-0.0" },
		{ "[{'_',[],[{ceil,1.5}]}]", "[]",
		  "error: Function ceil/1 does_not_exist." },
		{ "[{[a|'_'],[],[]}]", "[]",
		  "error: Match expression part [a|'_'] is not a proper "
		  "list." },
	};
	static const struct example in_29[] = {
		{ "[{['$1'],[],[{message,{'=:=','$1',0.0}}]}]", "[-0.0]",
		  "false" },
		{ "[{['$1'],[],[{message,{abs,'$1'}}]}]", "[-0.0]", "0.0" },
		{ "[{['$1'],[],[{message,{float,'$1'}}]}]",
		  "[428654966685883400000]", "4.286549666858834e20" },
		{ "[{'_',[],[{message,{ceil,1.5}}]}]", "[]", "2" },
		{ "[{[a|'_'],[],[]}]", "[a,b,c]", "true" },
		{ "[{[a|'_'],[],[]}]", "[]", "no match" },
		{ "[{'_',[],[{message,{is_integer,2,1,3}}]}]", "[]", "true" },
	};

	(void)state;
	CHECK(in_25, 25);
	CHECK(in_29, 29);
}

/* Runs a spec with terms that are encoded as in a log, where terms may be
 * cut. */
static int over_packed(const char *spec, const char *bytes, size_t len,
		       bool *matched)
{
	static struct inv_cursor cursor;
	static struct inv_match_run run;
	static inv_word words[1000];
	struct inv_heap heap = { .w = words, .cap = 1000 };
	struct inv_match_world world = { .idle = false };
	struct inv_match m;
	inv_word t;
	int rc;

	match_reset();
	assert_int_equal(match_make(&m, spec, 25), 0);
	inv_cursor_init(&cursor, INV_ENC_PACKED, NULL, bytes, len);
	assert_int_equal(inv_tree_read(&heap, &cursor, &t), 0);
	run.heap = &heap;
	run.world = &world;
	run.steps = 1000;
	rc = inv_match_run(&m.prog, &run, &t, 1);
	*matched = run.matched;
	inv_match_release(&m);
	return rc;
}

#define TUPLE_CUT "\x83\x01\xc8\x01\x02" /* {1, ...(2 more)} */

static void terms_that_were_cut_decide_nothing(void **state)
{
	static const struct {
		const char *spec;
		int rc;
		bool matched;
	} examples[] = {
		{ "[{[{1,'_','_'}],[],[]}]", 0, true },
		{ "[{[{2,'_','_'}],[],[]}]", 0, false },
		{ "[{[{1,'_'}],[],[]}]", 0, false },
		{ "[{[{1,a,'_'}],[],[]}]", INV_EUNKNOWN, false },
		{ "[{[{1,a,'_'}],[],[]},{'_',[],[]}]", INV_EUNKNOWN, false },
		{ "[{['$1'],[{'==',{size,'$1'},3}],[]}]", 0, true },
		{ "[{['$1'],[{is_atom,{element,2,'$1'}}],[]}]", INV_EUNKNOWN,
		  false },
		{ "[{['$1'],[{'==','$1',{{2,b,c}}}],[]}]", 0, false },
		{ "[{['$1'],[{'==','$1',{{1,b,c}}}],[]}]", INV_EUNKNOWN,
		  false },
		{ "[{['$1'],[],[{message,{element,2,'$1'}}]}]", 0, true },
		{ "[{'_',[{is_pid,{self}}],[]}]", INV_EUNKNOWN, false },
		{ "[{'_',[{is_seq_trace}],[]}]", INV_EUNKNOWN, false },
	};
	bool matched;

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		int rc = over_packed(examples[i].spec, TUPLE_CUT,
				     sizeof(TUPLE_CUT) - 1, &matched);

		if (rc != examples[i].rc ||
		    (!rc && matched != examples[i].matched))
			fail_msg("%s: %d", examples[i].spec, rc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_take_arguments_apart),
		cmocka_unit_test(guards_fail_and_bodies_do_not),
		cmocka_unit_test(actions_have_their_results),
		cmocka_unit_test(specs_have_many_variables),
		cmocka_unit_test(integers_have_any_size),
		cmocka_unit_test(releases_differ),
		cmocka_unit_test(terms_that_were_cut_decide_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
