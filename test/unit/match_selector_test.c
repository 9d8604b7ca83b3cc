/* SPDX-License-Identifier: Apache-2.0 */
#include "match/selector.h"

#include "unit/match_build.h"

static int parse(const char *text, const struct inv_records *records,
		 inv_word *spec, struct inv_err *err)
{
	struct inv_selector s;
	int rc;

	match_reset();
	rc = inv_selector_parse(&match_heap, text, records, &s, err);
	return rc ? rc : inv_selector_events(&match_heap, &s, spec, err);
}

static void calls_become_match_specs(void **state)
{
	static const struct {
		const char *call;
		const char *spec;
	} examples[] = {
		{ "m", "[{['_',call,{m,'_','_'}],[],[]}]" },
		{ "m:f", "[{['_',call,{m,f,'_'}],[],[]}]" },
		{ "m:f/2", "[{['_',call,{m,f,['_','_']}],[],[]},"
			   "{['_',call,{m,f,2}],[],[]}]" },
		{ "m:f()", "[{['_',call,{m,f,[]}],[],[]}]" },
		{ "'A b':'F'(x)", "[{['_',call,{'A b','F',[x]}],[],[]}]" },
		{ "_:f(A,{B,A},[_|_Rest],\"s\",#{k := B})",
		  "[{['_',call,{'_',f,['$1',{'$2','$1'},['_'|'$3'],[115],"
		  "#{k => '$2'}]}],[],[]}]" },
		{ "m:f(A) when A > 1",
		  "[{['_',call,{m,f,['$1']}],[{'>','$1',1}],[]}]" },
		{ "m:f(A) when A > 1, is_atom(A); A == b",
		  "[{['_',call,{m,f,['$1']}],[{'>','$1',1},{is_atom,'$1'}],"
		  "[]},{['_',call,{m,f,['$1']}],[{'==','$1',b}],[]}]" },
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

		if (parse(examples[i].call, NULL, &t, &err))
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
		{ "", "character 1: a selector is expected" },
		{ "1:f()", "character 2: a call is written" },
		{ "m:f(", "character 5: the text ends" },
		{ "m:f(A", "character 6: ')' expected after arguments" },
		{ "m:f(A) A", "character 8: 'when', an operator, -> or" },
		{ "m:f(A) when", "character 12: the text ends" },
		{ "m:f(A) when B", "is not in the arguments" },
		{ "m:f(A) when A == 1 == 2",
		  "character 20: 'when', an operat" },
		{ "m:f(A) when (A", "character 15: ')' expected" },
		{ "m:f(A) -> return", "actions have no place" },
		{ "m:f(A) -> nosuch", "the actions are return, slow(50ms)" },
		{ "m:f(A = 1)", "no `=' in its patterns" },
		{ "m:f(#r{})", "the fields of #r{} are not known here" },
		{ "Foo.bar(\"h\xc3\xa9\", x when", "character 17: ')' exp" },
		{ "Foo.bar(\"\xc3\xa9\", &x)",
		  "character 14: this is not exp" },
		{ "receive(From, x)", "does not have the sender" },
		{ "app(shop):f", "known only to a node" },
		{ "m:f/300", "an arity is 0 to 255" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct inv_err err = { 0 };
		inv_word t;

		assert_int_equal(parse(examples[i].call, NULL, &t, &err),
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
	inv_buf_puts(&b, "m:f(A) when ");
	for (int i = 0; i < 5000; i++)
		inv_buf_putc(&b, '(');
	inv_buf_putc(&b, '\0');
	assert_int_equal(parse((char *)b.data, NULL, &t, &err), INV_EINVAL);
	assert_non_null(strstr(err.text, "nested too deeply"));
	inv_buf_release(&b);
}

static void others_become_match_specs(void **state)
{
	static const struct {
		const char *text;
		const char *spec;
	} examples[] = {
		{ "send(B)",
		  "[{['_',send,'$1','_'],[],[]},"
		  "{['_',send_to_non_existing_process,'$1','_'],[],[]}]" },
		{ "receive({a, B}) when B > 1",
		  "[{['_','receive',{a,'$1'}],[{'>','$1',1}],[]}]" },
		{ "send(n, B)",
		  "[{['_',send,'$1',n],[],[]},"
		  "{['_',send_to_non_existing_process,'$1',n],[],[]},"
		  "{['_',send,'$1',{n,'$2'}],[{'==','$2',{node}}],[]},"
		  "{['_',send_to_non_existing_process,'$1',{n,'$2'}],"
		  "[{'==','$2',{node}}],[]}]" },
		{ "running", "[{['$1',in|'_'],[],[]},{['$1',out|'_'],[],[]},"
			     "{['$1',in_exiting|'_'],[],[]},"
			     "{['$1',out_exiting|'_'],[],[]},"
			     "{['$1',out_exited|'_'],[],[]}]" },
		{ "m_*:f*/1", "[{['_',call,{'_','_',['_']}],[],[]},"
			      "{['_',call,{'_','_',1}],[],[]}]" },
		{ "m:f/1 [{[a],[],[]},{'_',[x],[]}]",
		  "[{['_',call,{m,f,[a]}],[],[]},"
		  "{['_',call,{m,f,['_']}],[x],[]}]" },
		{ "A.B.c(%{d: x}, :e, nil) when x in [1]",
		  "[{['_',call,{'Elixir.A.B',c,[#{d => '$1'},e,nil]}],"
		  "[{'=:=','$1',1}],[]}]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		static const struct inv_print_opts w;
		struct inv_buf out = { 0 };
		struct inv_err err = { 0 };
		inv_word t;

		if (parse(examples[i].text, NULL, &t, &err))
			fail_msg("%s: %s", examples[i].text, err.text);
		assert_int_equal(inv_tree_print(t, &out, &w), 0);
		inv_buf_putc(&out, '\0');
		assert_string_equal((char *)out.data, examples[i].spec);
		inv_buf_release(&out);
	}
}

static void header_files_define_records(void **state)
{
	static const char text[] =
		"%% -record(no, {a}).\n"
		"-ifdef(X).\n-endif.\n"
		"-define(D, \"-record(no, {b})\").\n"
		"-record(empty, {}).\n"
		"-record('odd name', {'a b', c}).\n"
		"-record(r, {a, b = #{x => {1, \"}\"}} :: map(),\n"
		"            c = <<1, 2>>, % c, d\n"
		"            d :: fun((a, b) -> c)}).\n"
		"f() -> -record.\n";
	static const struct {
		const char *text;
		const char *args;
	} examples[] = {
		{ "m:f(#empty{})", "[{empty}]" },
		{ "m:f(#'odd name'{c = 1})", "[{'odd name','_',1}]" },
		{ "m:f(#r{d = X, b = X})", "[{r,'_','$1','_','$1'}]" },
		{ "m:f(#r{c = 2, _ = x})", "[{r,x,x,2,x}]" },
		{ "m:f(other#r{a = 1})", "[{r,1,'_','_','_'}]" },
	};
	struct inv_records rs = { 0 };
	struct inv_err err = { 0 };

	(void)state;
	assert_int_equal(inv_records_parse(&rs, text, &err), 0);
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		static const struct inv_print_opts w;
		struct inv_buf out = { 0 };
		inv_word t;

		if (parse(examples[i].text, &rs, &t, &err))
			fail_msg("%s: %s", examples[i].text, err.text);
		assert_int_equal(inv_tree_print(t, &out, &w), 0);
		inv_buf_putc(&out, '\0');
		if (!strstr((char *)out.data, examples[i].args))
			fail_msg("%s: %s", examples[i].text, (char *)out.data);
		inv_buf_release(&out);
	}
	assert_int_equal(parse("m:f(#no{})", &rs, &(inv_word){ 0 }, &err),
			 INV_EINVAL);
	assert_int_equal(parse("m:f(X) when X == #r{}", &rs, &(inv_word){ 0 },
			       &err),
			 INV_EINVAL);
	assert_non_null(strstr(err.text, "that have a default"));
	inv_records_release(&rs);
	assert_int_equal(inv_records_parse(&rs, "-record(r, {a, B}).", &err),
			 INV_EINVAL);
	assert_string_equal(err.text,
			    "record r: the name of a field is expected");
	inv_records_release(&rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_become_match_specs),
		cmocka_unit_test(others_become_match_specs),
		cmocka_unit_test(header_files_define_records),
		cmocka_unit_test(errors_are_reported),
		cmocka_unit_test(nesting_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
