/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/casefile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static void write_bytes(const char *text, size_t len)
{
	FILE *f;
	int fd;

	strcpy(path, "/tmp/casefile-XXXXXX.case");
	fd = mkstemps(path, 5);
	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static int read_case(struct inv_casefile *c, const char *text,
		     struct inv_err *err)
{
	int r;

	memset(c, 0, sizeof(*c));
	write_bytes(text, strlen(text));
	r = inv_casefile_read(c, path, err);
	unlink(path);
	return r;
}

/* Checks the arguments that the case file `text' gives if its variables have
 * these values. */
static void check_args(const char *text, const char *const *values,
		       const char *const *expected)
{
	struct inv_casefile c;
	struct inv_err err = { 0 };
	char **args = NULL;
	size_t n = 0, i;

	if (read_case(&c, text, &err))
		fail_msg("%s", err.text);
	for (; values && *values; values++)
		if (inv_casefile_set(&c, *values, &err))
			fail_msg("%s", err.text);
	if (inv_casefile_args(&c, &args, &n, &err))
		fail_msg("%s", err.text);
	for (i = 0; expected[i]; i++) {
		assert_true(i < n);
		assert_string_equal(args[i], expected[i]);
	}
	assert_int_equal(i, n);
	assert_null(args[n]);
	inv_casefile_args_free(args);
	inv_casefile_release(&c);
}

static void a_line_is_an_argument_or_an_option_and_its_value(void **state)
{
	static const char *const args[] = {
		"--for",
		"10 m",
		"--events=5",
		"--detach",
		"-n",
		"a@h",
		"m:f(X) when X > 1 -> return",
		"send",
		NULL,
	};

	(void)state;
	check_args("# words\n\n record \n--for  10 m \n--events=5\n"
		   "\t--detach\n-n a@h\n  # more words\n"
		   "m:f(X) when X > 1 -> return\nsend",
		   NULL, args);
}

static void variables_have_values_or_defaults(void **state)
{
	static const char *const values[] = { "M=lists", "B_2=", "M=seq",
					      "UNUSED=x y", NULL };
	static const char *const args[] = {
		"--for", "10m", "seq:_/2 seq-lists$x$M$", "x y", "",
		"${a}",	 NULL,
	};

	(void)state;
	check_args("trace\n--for ${TIME:-10m}\n"
		   "$M:${F:-_}/2 ${M}-${D:-lists}$x$$M$\n${UNUSED}\n$B_2\n"
		   "$${a}\n",
		   values, args);
}

static void a_value_never_becomes_an_option(void **state)
{
	static const char *const values[] = { "SPEC=--detach --for", "T=1 -x",
					      NULL };
	static const char *const args[] = { "--detach --for", "--for", "1 -x",
					    NULL };

	(void)state;
	check_args("trace\n$SPEC\n--for $T", values, args);
}

static void a_case_has_summary_command_and_variables(void **state)
{
	struct inv_casefile c;

	(void)state;
	assert_int_equal(read_case(&c,
				   "## What it is. \n# not this\nrecord\n"
				   "$B $A ${B:-b}\n",
				   NULL),
			 0);
	assert_string_equal(c.summary, "What it is.");
	assert_string_equal(c.command, "record");
	assert_int_equal(c.n_vars, 2);
	assert_string_equal(c.vars[0].name, "B");
	assert_string_equal(c.vars[0].otherwise, "b");
	assert_string_equal(c.vars[1].name, "A");
	assert_null(c.vars[1].otherwise);
	inv_casefile_release(&c);
	assert_int_equal(read_case(&c, "trace", NULL), 0);
	assert_string_equal(c.summary, "");
	inv_casefile_release(&c);
}

static void the_name_of_a_case_comes_from_its_file(void **state)
{
	static const char *const names[][2] = {
		{ "a.case", "a" },	{ "/x/y.z/a.b.case", "a.b" },
		{ "a", "a" },		{ "x/.case", ".case" },
		{ "case.case/b", "b" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *name = inv_casefile_name(names[i][0]);

		assert_string_equal(name, names[i][1]);
		free(name);
	}
}

static void a_variable_without_a_value_is_named(void **state)
{
	struct inv_casefile c;
	struct inv_err err = { 0 };
	char **args;
	size_t n;

	(void)state;
	assert_int_equal(read_case(&c, "trace\n$A:$B", &err), 0);
	assert_int_equal(inv_casefile_set(&c, "A=a", &err), 0);
	assert_int_equal(inv_casefile_args(&c, &args, &n, &err), INV_ENOTHING);
	assert_non_null(strstr(err.text, "B needs a value: B=..."));
	assert_int_equal(inv_casefile_set(&c, "C=a", &err), INV_ENOTHING);
	assert_non_null(strstr(err.text, "has no variable C"));
	assert_int_equal(inv_casefile_set(&c, "A", &err), INV_ENOTHING);
	assert_int_equal(inv_casefile_set(&c, "=a", &err), INV_ENOTHING);
	inv_casefile_release(&c);
}

static void errors_in_a_case_file_name_the_line(void **state)
{
	static const char *const cases[][2] = {
		{ "# only\n", "the line `trace' or `record' is missing" },
		{ "", "the line `trace' or `record' is missing" },
		{ "#\nstop\n", ":2: the first line that is not a comment" },
		{ "trace\n$A\n${b}", ":3: ${ must be followed by NAME}" },
		{ "trace\n${A", ":2: ${" },
		{ "trace\n${A-b}", ":2: ${" },
		{ "trace\n${A:-b", ":2: ${" },
		{ "trace\n${", ":2: ${" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct inv_casefile c;
		struct inv_err err = { 0 };

		assert_int_equal(read_case(&c, cases[i][0], &err), INV_EFORMAT);
		if (!strstr(err.text, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], err.text);
		inv_casefile_release(&c);
	}
}

static void files_that_cannot_be_cases_are_refused(void **state)
{
	struct inv_casefile c = { 0 };
	struct inv_err err = { 0 };
	size_t len = 70000;
	char *big = malloc(len);

	(void)state;
	assert_int_equal(inv_casefile_read(&c, "/no/such/file", &err), INV_EIO);
	inv_casefile_release(&c);
	assert_int_equal(inv_casefile_read(&c, "/tmp", &err), INV_EIO);
	inv_casefile_release(&c);
	assert_non_null(big);
	memset(big, 'x', len);
	write_bytes(big, len);
	assert_int_equal(inv_casefile_read(&c, path, &err), INV_ETOOBIG);
	inv_casefile_release(&c);
	unlink(path);
	write_bytes("trace\n\0x\n", 9);
	assert_int_equal(inv_casefile_read(&c, path, &err), INV_EFORMAT);
	inv_casefile_release(&c);
	unlink(path);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_line_is_an_argument_or_an_option_and_its_value),
		cmocka_unit_test(variables_have_values_or_defaults),
		cmocka_unit_test(a_value_never_becomes_an_option),
		cmocka_unit_test(a_case_has_summary_command_and_variables),
		cmocka_unit_test(the_name_of_a_case_comes_from_its_file),
		cmocka_unit_test(a_variable_without_a_value_is_named),
		cmocka_unit_test(errors_in_a_case_file_name_the_line),
		cmocka_unit_test(files_that_cannot_be_cases_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
