/* SPDX-License-Identifier: Apache-2.0 */
#include "match/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "match/explain.h"
#include "unit/match_build.h"

static void errors_are_those_of_the_vm(void **state)
{
	static const struct {
		const char *spec;
		const char *text;
	} examples[] = {
		{ "foo", "Match programs are not in a list." },
		{ "[]", "Match programs are not in a list." },
		{ "[a|b]", "Match programs are not in a proper list." },
		{ "[{a}]", "Match program part is not a tuple of arity 3." },
		{ "[{a,[],[]}]", "Match head is invalid in this context." },
		{ "[{[a|b],[],[]}]",
		  "Match expression part [a|b] is not a proper list." },
		{ "[{[#{'$1'=>a}],[],[]}]", "Variable found in map key." },
		{ "[{[#{'_'=>a}],[],[]}]", "Underscore found in map key." },
		{ "[{'_',a,[]}]", "Match expression is not a list." },
		{ "[{'_',['$3'],[]}]", "Variable $3 is unbound." },
		{ "[{'_',[{1}],[]}]",
		  "{1} is neither a function call, nor a tuple (tuples are "
		  "written {{ ... }})." },
		{ "[{'_',[{'A b',1}],[]}]",
		  "Function 'A b'/1 does_not_exist." },
		{ "[{'_',[{set_tcw,1}],[]}]",
		  "Function set_tcw/1 cannot be called in this context." },
		{ "[{'_',[{const}],[]}]",
		  "Special form 'const' called with more than one argument in "
		  "{const}." },
		{ "[{'_',[{message,1}],[]}]",
		  "Special form 'message' called in guard context." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		const char *got = match_answer(examples[i].spec, "[]", 25);

		assert_memory_equal(got, "error: ", 7);
		assert_string_equal(got + 7, examples[i].text);
	}
}

static void all_errors_of_a_clause_are_found(void **state)
{
	struct inv_match m;
	const struct inv_diag *d;

	(void)state;
	match_reset();
	assert_int_equal(
		match_make(&m, "[{'_',[{a},{b}],[{c}]},{'_',[{d}],[]}]", 25),
		INV_EINVAL);
	d = m.spec.diags.first;
	assert_string_equal(d->text, "Function a/0 does_not_exist.");
	assert_string_equal(d->next->text, "Function b/0 does_not_exist.");
	assert_string_equal(d->next->next->text,
			    "Function c/0 does_not_exist.");
	assert_null(d->next->next->next);
	inv_match_release(&m);
}

/* Returns the text of `before', n times `open', `within', n times `close', and
 * `after', in this order. */
static char *nested(size_t n, const char *before, const char *open,
		    const char *within, const char *close, const char *after)
{
	struct inv_buf b = { 0 };

	inv_buf_puts(&b, before);
	for (size_t i = 0; i < n; i++)
		inv_buf_puts(&b, open);
	inv_buf_puts(&b, within);
	for (size_t i = 0; i < n; i++)
		inv_buf_puts(&b, close);
	inv_buf_puts(&b, after);
	inv_buf_putc(&b, '\0');
	assert_int_equal(b.error, 0);
	return (char *)b.data;
}

static int make_and_free(char *spec)
{
	struct inv_match m;
	int rc;

	match_reset();
	rc = match_make(&m, spec, 25);
	inv_match_release(&m);
	free(spec);
	return rc;
}

static void specs_beyond_a_limit_are_refused(void **state)
{
	(void)state;
	assert_int_equal(make_and_free(nested(150, "[{'_',[", "{'not',", "true",
					      "}", "],[]}]")),
			 0);
	assert_int_equal(make_and_free(nested(500, "[{'_',[", "{'not',", "true",
					      "}", "],[]}]")),
			 INV_EINVAL);
	assert_int_equal(
		make_and_free(nested(500, "[{[", "{", "a", "}", "],[],[]}]")),
		INV_EDEPTH);
	/* A list has only one level, however long it is. */
	assert_int_equal(make_and_free(nested(2000, "[{'$1',[],[[", "a,", "a",
					      "", "]]}]")),
			 0);
	assert_int_equal(make_and_free(nested(1500, "[{'$1',[],[[", "'$1',",
					      "a", "", "]]}]")),
			 INV_ETOOBIG);
	assert_int_equal(make_and_free(nested(500, "[{'_',[{'andalso',",
					      "true,", "true", "", "}],[]}]")),
			 0);
}

static void every_instruction_is_checked(void **state)
{
	static const uint32_t no_clause[] = { 0x0000000d };
	struct inv_match m;
	struct inv_match_prog p;
	uint32_t *code;
	size_t bytes;

	(void)state;
	match_reset();
	assert_int_equal(
		match_make(&m,
			   "[{['$1',{a,#{k=>'$2'}}],[{'orelse',{is_atom,'$1'},"
			   "{'>','$1',{'+','$2',1}}}],[{message,[{{'$1'}}|"
			   "#{a=>'$2'}]},{silent,true}]},{'$1',[],[]}]",
			   25),
		0);
	p = m.prog;
	bytes = p.n_code * sizeof(*code);
	code = malloc(bytes);
	/* If one instruction is left out, the verifier must refuse the program.
	 * It must also refuse most changes of an instruction. Only the first
	 * clause is changed, because the verifier does not check the end of the
	 * last clause. */
	for (uint32_t i = 0; i < inv_instr_a(m.prog.code[0]); i++) {
		memcpy(code, m.prog.code, bytes);
		memmove(code + i, code + i + 1,
			bytes - (i + 1) * sizeof(*code));
		p.code = code;
		p.n_code = m.prog.n_code - 1;
		assert_true(inv_match_verify(&p, NULL) < 0);
		memcpy(code, m.prog.code, bytes);
		code[i] |= 0xfff00000;
		p.n_code = m.prog.n_code;
		if (inv_instr_op(code[i]) != INV_OP_DROP &&
		    inv_instr_op(code[i]) != INV_OP_TEST &&
		    inv_instr_op(code[i]) != INV_OP_UNCONS &&
		    inv_instr_op(code[i]) != INV_OP_ISMAP &&
		    inv_instr_op(code[i]) != INV_OP_MESSAGE &&
		    inv_instr_op(code[i]) != INV_OP_ARGS &&
		    inv_instr_op(code[i]) != INV_OP_BODY &&
		    inv_instr_op(code[i]) != INV_OP_END)
			assert_true(inv_match_verify(&p, NULL) < 0);
		code[i] = 0xff; /* not an opcode */
		assert_true(inv_match_verify(&p, NULL) < 0);
	}
	p.code = no_clause;
	p.n_code = 1;
	assert_int_equal(inv_match_verify(&p, NULL), INV_EDAMAGED);
	p.n_code = 0;
	assert_int_equal(inv_match_verify(&p, NULL), INV_EDAMAGED);
	free(code);
	inv_match_release(&m);
}

static void a_program_can_be_read(void **state)
{
	struct inv_match m;
	struct inv_buf out = { 0 };

	(void)state;
	match_reset();
	assert_int_equal(match_make(&m,
				    "[{['$7',x],[{is_atom,'$7'}],"
				    "[{message,{{'$7'}}}]}]",
				    25),
			 0);
	inv_match_explain(&m.spec, 25, &out);
	inv_match_disassemble(&m.prog, &out);
	inv_buf_putc(&out, '\0');
	assert_string_equal((char *)out.data, "clause 1: 2 arguments: $7, x\n"
					      "  when    is_atom($7)\n"
					      "  does    message({$7})\n"
					      "   0  CLAUSE\n"
					      "   1  ARITY   2\n"
					      "   2  BIND    '$7'\n"
					      "   3  EQ      x\n"
					      "   4  VAR     '$7'\n"
					      "   5  CALL    is_atom/1\n"
					      "   6  TEST\n"
					      "   7  BODY\n"
					      "   8  VAR     '$7'\n"
					      "   9  TUPLE   1\n"
					      "  10  MESSAGE\n"
					      "  11  DROP\n"
					      "  12  END\n");
	inv_buf_release(&out);
	inv_match_release(&m);
}

static void a_full_heap_is_reported(void **state)
{
	inv_word *words = malloc(2000 * sizeof(*words));
	struct inv_heap heap = { .w = words };
	struct inv_spec spec;
	struct inv_match_prog prog;
	struct inv_err err;
	inv_word t;
	int rc = -1;

	(void)state;
	match_reset();
	t = match_term("[{['$1',{a}],[{'>','$1',#{a=>{const,b}}}],"
		       "[{message,[{{'$1'}}|b]}]}]");
	for (heap.cap = 0; rc; heap.cap++) {
		assert_true(heap.cap < 2000);
		heap.used = 0;
		rc = inv_spec_parse(&spec, t, 25, INV_MATCH_CALL, &heap, &err);
		if (!rc)
			rc = inv_match_compile(&prog, &spec, 25, &heap, &err);
		assert_true(rc == 0 || rc == INV_ETOOBIG);
	}
	free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_those_of_the_vm),
		cmocka_unit_test(all_errors_of_a_clause_are_found),
		cmocka_unit_test(specs_beyond_a_limit_are_refused),
		cmocka_unit_test(every_instruction_is_checked),
		cmocka_unit_test(a_program_can_be_read),
		cmocka_unit_test(a_full_heap_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
