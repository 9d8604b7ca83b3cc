/* SPDX-License-Identifier: Apache-2.0 */
#include "node/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The option files of TLS distribution. */

static struct inv_tls_opts o;
static struct inv_err err;

static int parse(const char *text)
{
	inv_tls_opts_init(&o);
	memset(&err, 0, sizeof(err));
	return inv_tls_optfile_parse(&o, text, &err);
}

static void a_file_of_a_node_is_read_as_it_is(void **state)
{
	(void)state;
	assert_int_equal(
		parse("%% of shop\n"
		      "[{server, [{certfile, \"s.pem\"},"
		      "  {verify_fun, {m, f, []}}]},\n"
		      " {client, [{certfile, \"c.pem\"}, {keyfile, <<\"k\">>},"
		      "  {cacertfile, \"ca.pem\"}, {password, \"x y\"},"
		      "  {verify, verify_peer}, {versions, ['tlsv1.3']},"
		      "  {depth, 2}, {secure_renegotiate, true},"
		      "  {ktls, true}]}].\n"),
		0);
	assert_string_equal(o.cert, "c.pem");
	assert_string_equal(o.key, "k");
	assert_string_equal(o.ca, "ca.pem");
	assert_string_equal(o.password, "x y");
	assert_true(o.verify && o.verify_said && o.tls13);
	assert_false(o.tls12);
	assert_int_equal(o.depth, 2);
}

/* OTP 25 checks certificates only if the file asks for it. */
static void without_verify_nothing_is_checked(void **state)
{
	static const char *const files[] = { "[].", "[{server, []}].",
					     "[{client, []}]",
					     "[{client, [{depth, 1}]}]." };

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(parse(files[i]), 0);
		assert_false(o.verify || o.verify_said);
		assert_true(o.tls12 && o.tls13);
	}
	assert_int_equal(parse("[{client, [{depth, 0}]}]."), 0);
	assert_int_equal(o.depth, 0);
	assert_int_equal(parse("[{client, []}]."), 0);
	assert_int_equal(o.depth, -1);
	assert_int_equal(parse("[{client, [{verify, verify_none}]}]."), 0);
	assert_true(!o.verify && o.verify_said);
}

static void what_is_not_known_is_refused_by_name(void **state)
{
	static const struct {
		const char *text;
		const char *words;
	} bad[] = {
		{ "[{client, [{verify_fun, {m, f, []}}]}].", "verify_fun" },
		{ "[{client, [{certflie, \"x\"}]}].", "certflie" },
		{ "[{clients, []}].", "clients" },
		{ "[{client, [{verify, peer}]}].", "verify_peer" },
		{ "[{client, [{certfile, 7}]}].", "path of a file" },
		{ "[{client, [{certfile, \"\"}]}].", "path of a file" },
		{ "[{client, [{certfile, [0]}]}].", "path of a file" },
		{ "[{client, [{certfile, [$a | b]}]}].", "path of a file" },
		{ "[{client, [{certfile, <<\"a\", 0>>}]}].", "path of" },
		{ "[{client, [{versions, ['tlsv1.1']}]}].", "tlsv1.2" },
		{ "[{client, [{versions, 'tlsv1.2'}]}].", "tlsv1.2" },
		{ "[{client, [{depth, -1}]}].", "depth" },
		{ "[{client, [{depth, 18446744073709551616}]}].", "depth" },
		{ "[{client, [verify]}].", "pair" },
		{ "[{client, verify}].", "not a list" },
		{ "[{client, [{verify, verify_peer},"
		  " {verify, verify_none}]}].",
		  "verify twice" },
		{ "[{client, []}, {client, []}].", "client twice" },
		{ "[{client, [] | x}].", "" },
		{ "client.", "not a list" },
		{ "[{client, [}].", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r = parse(bad[i].text);

		print_message("# %s\n", err.text);
		assert_int_equal(r, INV_EINVAL);
		if (!strstr(err.text, bad[i].words))
			fail_msg("'%s' is not in: %s", bad[i].words, err.text);
	}
}

static void a_path_has_a_limit(void **state)
{
	char text[3000];
	int n = snprintf(text, sizeof(text), "[{client, [{certfile, \"");

	(void)state;
	memset(text + n, 'a', INV_TLS_PATH_MAX - 1);
	snprintf(text + n + INV_TLS_PATH_MAX - 1, 100, "\"}]}].");
	assert_int_equal(parse(text), 0);
	assert_int_equal(strlen(o.cert), INV_TLS_PATH_MAX - 1);
	snprintf(text + n + INV_TLS_PATH_MAX - 1, 100, "a\"}]}].");
	assert_int_equal(parse(text), INV_EINVAL);
}

static void a_term_has_limits(void **state)
{
	static char text[65000];

	(void)state;
	memset(text, '[', sizeof(text) - 1);
	assert_int_equal(parse(text), INV_EINVAL);
	assert_non_null(strstr(err.text, "nested too deeply"));
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = "[a,"[i == 0 ? 0 : 1 + i % 2];
	assert_int_equal(parse(text), INV_EINVAL);
}

/* Errors do not show the contents of a file, because it may contain a
 * password. */
static void a_password_is_not_shown(void **state)
{
	static const char *const files[] = {
		"[{client, [{password, \"secret\"}, x]}].",
		"[{client, [{password, \"secret]}].",
		"[{client, [{password, secret}]}].",
		"[{client, [{password, \"secret\" \"secret\"}]}.",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(parse(files[i]), INV_EINVAL);
		assert_null(strstr(err.text, "secret"));
	}
}

static void a_file_that_is_none(void **state)
{
	(void)state;
	inv_tls_opts_init(&o);
	assert_int_equal(inv_tls_optfile(&o, "/nonexistent", &err), INV_EIO);
	assert_non_null(strstr(err.text, "/nonexistent"));
	assert_int_equal(inv_tls_optfile(&o, "/", &err), INV_EIO);
	assert_int_equal(inv_tls_optfile(&o, "/dev/zero", &err), INV_EINVAL);
}

static void files_that_are_not_certificates(void **state)
{
	(void)state;
	inv_tls_opts_init(&o);
	snprintf(o.cert, sizeof(o.cert), "/nonexistent");
	assert_null(inv_tls_new(&o, &err));
	assert_non_null(strstr(err.text, "/nonexistent: No such file"));
	inv_tls_opts_init(&o);
	snprintf(o.ca, sizeof(o.ca), "/dev/null");
	assert_null(inv_tls_new(&o, &err));
	assert_non_null(strstr(err.text, "/dev/null"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_a_node_is_read_as_it_is),
		cmocka_unit_test(without_verify_nothing_is_checked),
		cmocka_unit_test(what_is_not_known_is_refused_by_name),
		cmocka_unit_test(a_path_has_a_limit),
		cmocka_unit_test(a_term_has_limits),
		cmocka_unit_test(a_password_is_not_shown),
		cmocka_unit_test(a_file_that_is_none),
		cmocka_unit_test(files_that_are_not_certificates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
