/* SPDX-License-Identifier: Apache-2.0 */
#include "match/call.h"

#include "unit/match_build.h"

static void calls_become_match_specs(void **state)
{
	static const struct {
		const char *call;
		const char *spec;
	} examples[] = {
		{ "m", "[{['_',call,{m,'_','_'}],[],[]}]" },
		{ "m:f", "[{['_',call,{m,f,'_'}],[],[]}]" },
		{ "m:f/2", "[{['_',call,{m,f,['_','_']}],[],[]}]" },
		{ "m:f()", "[{['_',call,{m,f,[]}],[],[]}]" },
		{ "'A b':'F'(x)", "[{['_',call,{'A b','F',[x]}],[],[]}]" },
		{ "_:f(A,{B,A},[_|_Rest],\"s\",#{k := B})",
		  "[{['_',call,{'_',f,['$1',{'$2','$1'},['_'|'$3'],[115],"
		  "#{k => '$2'}]}],[],[]}]" },
		{ "m:f(A) when A > 1",
		  "[{['_',call,{m,f,['$1']}],[{'>','$1',1}],[]}]" },
		{ "m:f(A) when A > 1, is_atom(A); A == b",
		  "[{['_',call,{m,f,['$1']}],[{'orelse',{'andalso',{'>','$1',"
		  "1},{is_atom,'$1'}},{'==','$1',b}}],[]}]" },
		{ "m:f(A) when 1 + 2 * A - 3 div 4 =:= A",
		  "[{['_',call,{m,f,['$1']}],[{'=:=',{'-',{'+',1,{'*',2,'$1'}},"
		  "{'div',3,4}},'$1'}],[]}]" },
		{ "m:f(A) when (1 + 2) * -A /= bnot A",
		  "[{['_',call,{m,f,['$1']}],[{'/=',{'*',{'+',1,2},{'-','$1'}},"
		  "{'bnot','$1'}}],[]}]" },
		{ "m:f(A) when not A andalso A orelse A",
		  "[{['_',call,{m,f,['$1']}],[{'orelse',{'andalso',{'not',"
		  "'$1'},'$1'},'$1'}],[]}]" },
		{ "m:f(A) when notA", "[{['_',call,{m,f,['$1']}],[notA],[]}]" },
		{ "m:f(A) when {A,[b|A]} == self()",
		  "[{['_',call,{m,f,['$1']}],[{'==',{{'$1',[b|'$1']}},{self}}],"
		  "[]}]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		static const struct inv_print_opts w;
		struct inv_buf out = { 0 };
		struct inv_err err = { 0 };
		inv_word t;

		match_reset();
		if (inv_call_parse(&match_heap, examples[i].call, &t, &err))
			fail_msg("%s: %s", examples[i].call, err.text);
		assert_int_equal(inv_tree_print(t, &out, &w), 0);
		inv_buf_putc(&out, '\0');
		assert_string_equal((char *)out.data, examples[i].spec);
		inv_buf_release(&out);
	}
}

static void errors_are_reported(void **state)
{
	static const struct {
		const char *call;
		const char *text;
	} examples[] = {
		{ "", "character 1: the text ends where a term belongs" },
		{ "1:f()", "character 2: a call is written" },
		{ "m:f(", "character 5: the text ends" },
		{ "m:f(A", "character 6: ')' expected after arguments" },
		{ "m:f(A) A", "character 8: 'when', an operator or the end" },
		{ "m:f(A) when", "character 12: the text ends" },
		{ "m:f(A) when B", "is not in the arguments" },
		{ "m:f(A) when A == 1 == 2",
		  "character 20: 'when', an operat" },
		{ "m:f(A) when (A", "character 15: ')' expected" },
		{ "m:f(A) -> return", "character 8: actions have no place" },
		{ "m:f/300", "an arity is 0 to 255" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct inv_err err = { 0 };
		inv_word t;

		match_reset();
		assert_int_equal(inv_call_parse(&match_heap, examples[i].call,
						&t, &err),
				 INV_EINVAL);
		if (!strstr(err.text, examples[i].text))
			fail_msg("%s: %s", examples[i].call, err.text);
	}
}

static void nesting_is_limited(void **state)
{
	struct inv_buf b = { 0 };
	struct inv_err err = { 0 };
	inv_word t;

	(void)state;
	match_reset();
	inv_buf_puts(&b, "m:f(A) when ");
	for (int i = 0; i < 5000; i++)
		inv_buf_putc(&b, '(');
	inv_buf_putc(&b, '\0');
	assert_int_equal(inv_call_parse(&match_heap, (char *)b.data, &t, &err),
			 INV_EINVAL);
	assert_non_null(strstr(err.text, "nested too deeply"));
	inv_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_become_match_specs),
		cmocka_unit_test(errors_are_reported),
		cmocka_unit_test(nesting_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
