/* SPDX-License-Identifier: Apache-2.0 */
#include "match/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct inv_redact rules;

static struct inv_redact_name name(const char *text)
{
	return (struct inv_redact_name){ (const uint8_t *)text, strlen(text) };
}

static void read_rules(const char *text, const struct inv_records *records)
{
	struct inv_err err = { 0 };

	memset(&rules, 0, sizeof(rules));
	if (inv_redact_parse(&rules, text, strlen(text), records, &err))
		fail_msg("%s: %s", text, err.text);
}

static bool is_key(const char *key)
{
	return inv_redact_key(&rules, (const uint8_t *)key, strlen(key));
}

static void assert_keys(const char *const *yes, const char *const *no)
{
	for (; *yes; yes++)
		if (!is_key(*yes))
			fail_msg("%s is no key", *yes);
	for (; *no; no++)
		if (is_key(*no))
			fail_msg("%s is a key", *no);
}

static void keys_without_case_and_separators(void **state)
{
	static const char *const yes[] = {
		"password",    "Password", "PASS_WORD", "Set-Cookie",
		"setCookie",   "api_key",  "x-Api-Key", "a_token_b",
		"ACCESSTOKEN", "token",	   "x:y",	"all",
		NULL
	};
	static const char *const no[] = { "passwor", "passwords", "apikeys",
					  "tok",     "",	  "-",
					  "cookies", "none",	  NULL };

	(void)state;
	read_rules(" password , set-cookie,api_key,x_api_key,*TO-KEN*,'x:y',"
		   "'all'",
		   NULL);
	assert_false(rules.all);
	assert_keys(yes, no);
}

static void long_keys_are_no_keys(void **state)
{
	char key[400];

	(void)state;
	memset(key, 'a', sizeof(key));
	key[255] = '\0';
	read_rules("*", NULL);
	assert_true(is_key(key));
	key[255] = 'a';
	key[256] = '\0';
	assert_false(is_key(key));
}

static void words(void **state)
{
	(void)state;
	read_rules("default", NULL);
	assert_true(is_key("password") && is_key("Authorization"));
	assert_true(is_key("token") && is_key("pwd") && is_key("Password:") &&
		    is_key("DB_PASSWORD") && is_key("userPassword"));
	assert_false(is_key("token_count") || is_key("user"));
	read_rules("default,none,token", NULL);
	assert_false(is_key("password"));
	assert_true(is_key("token"));
	read_rules("default,none", NULL);
	assert_false(inv_redact_any(&rules));
	read_rules("all", NULL);
	assert_true(rules.all && inv_redact_any(&rules));
	read_rules("", NULL);
	assert_false(inv_redact_any(&rules));
}

static void functions(void **state)
{
	static const struct {
		const char *rule;
		const char *module, *function;
		uint32_t arity;
		bool any, result;
		inv_redact_set args;
	} cases[] = {
		{ "m:f(_, -)", "m", "f", 2, true, false, 2 },
		{ "m:f(_,-)", "m", "f", 3, false, false, 0 },
		{ "m:f(User, -, _) -> -", "m", "f", 3, true, true, 2 },
		{ "m:f(_)->-", "m", "f", 1, true, true, 0 },
		{ "m:f() -> -", "m", "f", 0, true, true, 0 },
		{ "m:f/2", "m", "f", 2, true, true, UINT64_MAX },
		{ "m:f/2 -> -", "m", "f", 2, true, true, 0 },
		{ "m:f", "m", "f", 7, true, true, UINT64_MAX },
		{ "m_*:*/1", "m_x", "g", 1, true, true, UINT64_MAX },
		{ "m_*:*/1", "n", "g", 1, false, false, 0 },
		{ "'my m':'F g'(-)", "my m", "F g", 1, true, false, 1 },
		{ "Shop.Cart.add(_, -)", "Elixir.Shop.Cart", "add", 2, true,
		  false, 2 },
		{ "Shop:add/1", "Elixir.Shop", "add", 1, true, true,
		  UINT64_MAX },
		{ "m:f(-),m:f(_) -> -", "m", "f", 1, true, true, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct inv_redact_name mf[2] = {
			name(cases[i].module), name(cases[i].function)
		};
		struct inv_redact_call call;
		bool any;

		read_rules(cases[i].rule, NULL);
		any = inv_redact_calls(&rules, mf, cases[i].arity, &call);
		if (any != cases[i].any || call.result != cases[i].result ||
		    call.args != cases[i].args)
			fail_msg("%s: %d %d %llx", cases[i].rule, any,
				 call.result, (unsigned long long)call.args);
		if (any &&
		    !(inv_redact_atom(&rules, name(cases[i].function).bytes,
				      name(cases[i].function).len) &
		      INV_REDACT_IS_FUNCTION))
			fail_msg("%s: no verdict", cases[i].rule);
	}
}

static void records(void **state)
{
	struct inv_records defs = { 0 };

	(void)state;
	assert_int_equal(inv_records_parse(&defs,
					   "-record(user, {id, password = 1,"
					   " token}).\n-record(r, {a}).",
					   NULL),
			 0);
	read_rules("#user.password, #user{id, token}, #r{a}, #x/3.3", &defs);
	assert_int_equal(inv_redact_fields(&rules, name("user"), 4), 0xe);
	/* The record `user' is defined with 4 elements. If a record `user' has
	 * another number of elements, it is of another version, so all its
	 * fields are redacted. */
	assert_true(inv_redact_fields(&rules, name("user"), 3) == ~(uint64_t)1);
	assert_true(inv_redact_fields(&rules, name("user"), 5) == ~(uint64_t)1);
	assert_int_equal(inv_redact_fields(&rules, name("r"), 2), 2);
	assert_int_equal(inv_redact_fields(&rules, name("x"), 3), 4);
	assert_int_equal(inv_redact_fields(&rules, name("y"), 3), 0);
	/* Bit 63 of the set stands for element 64 and all elements after it. */
	read_rules("#big/100.80", NULL);
	assert_true(inv_redact_has(inv_redact_fields(&rules, name("big"), 100),
				   79));
	assert_false(inv_redact_has(inv_redact_fields(&rules, name("big"), 100),
				    62));
	inv_records_release(&defs);
}

static void fields_with_names_of_keys(void **state)
{
	struct inv_records defs = { 0 };
	struct inv_err err = { 0 };

	(void)state;
	read_rules("default,*pin*,#'user'('id','password')(a,b,c),"
		   "#r(id,name),#s('Pass_Word',my_pin)",
		   NULL);
	assert_int_equal(inv_redact_fields(&rules, name("user"), 3), 4);
	assert_int_equal(inv_redact_fields(&rules, name("user"), 2), 0);
	/* The record `user' with 4 elements is defined, and none of its field
	 * names is a key of the rules. */
	assert_int_equal(inv_redact_fields(&rules, name("user"), 4), 0);
	/* Only the version of `user' with 3 elements has a key among its field
	 * names. A record with up to four elements more may be of an unknown
	 * version, so all its fields are redacted. */
	assert_true(inv_redact_fields(&rules, name("user"), 5) == ~(uint64_t)1);
	assert_true(inv_redact_fields(&rules, name("user"), 7) == ~(uint64_t)1);
	assert_int_equal(inv_redact_fields(&rules, name("user"), 8), 0);
	assert_int_equal(inv_redact_fields(&rules, name("r"), 3), 0);
	assert_int_equal(inv_redact_fields(&rules, name("s"), 3), 6);
	read_rules("default,none,#user(id,password)", NULL);
	assert_false(inv_redact_any(&rules));
	/* The rules are the same if the record definitions are parsed
	 * separately. */
	read_rules("default", NULL);
	assert_int_equal(inv_records_parse(&defs,
					   "-record(user, {id, password}).\n"
					   "-record(r, {a}).",
					   NULL),
			 0);
	assert_int_equal(inv_redact_learn(&rules, &defs, "user", &err), 0);
	assert_int_equal(inv_redact_learn(&rules, &defs, "r", &err), 0);
	assert_int_equal(rules.n_records, 2);
	assert_int_equal(inv_redact_fields(&rules, name("user"), 3), 4);
	assert_true(inv_redact_fields(&rules, name("user"), 4) == ~(uint64_t)1);
	inv_records_release(&defs);
}

static void many_records_are_refused(void **state)
{
	static char text[65536];
	struct inv_err err = { 0 };
	size_t n = (size_t)sprintf(text, "password");

	(void)state;
	for (unsigned i = 0; i < INV_REDACT_RECORDS / 2 + 1; i++)
		n += (size_t)sprintf(text + n, ",#r%u(a,password)", i);
	memset(&rules, 0, sizeof(rules));
	assert_int_equal(inv_redact_parse(&rules, text, n, NULL, &err),
			 INV_ETOOBIG);
	assert_non_null(strstr(err.text, "more than 1024"));
}

static void mistakes(void **state)
{
	static const char *const bad[][2] = {
		{ ",", "a rule is expected" },
		{ "a,,b", "a rule is expected" },
		{ "a b", "a b: neither a key" },
		{ "-_-", "a key has" },
		{ "'a", "a rule is expected" },
		{ "#user.x", "#name/4.3" },
		{ "#user", "a field is expected" },
		{ "#user/2.3", "#name/4.3" },
		{ "#user/2.1", "#name/4.3" },
		{ "#user/3-2", "#name/4.3" },
		{ "#user(a", ") is expected" },
		{ "#user()", "the name of a field" },
		{ "m:f(_,-)->", "m:f(_,-)->: - is expected" },
		{ "m:f(x)", "an argument is - (redacted) or _" },
		{ "m:f(_)", "it redacts nothing" },
		{ "m:f(_", ") is expected" },
		{ "m:f(-) -> x", "- is expected after ->" },
		{ "m:f/256", "an arity from 0 to 255" },
		{ "m:f/x", "an arity from 0 to 255" },
		{ "m:", "the name of a function" },
		{ "m:f(-) x", "a comma is expected" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct inv_redact r = { 0 };
		struct inv_err err = { 0 };
		int rc = inv_redact_parse(&r, bad[i][0], strlen(bad[i][0]),
					  NULL, &err);

		if (rc != INV_EINVAL || !strstr(err.text, bad[i][1]))
			fail_msg("%s: %d %s", bad[i][0], rc, err.text);
	}
}

static void too_many_rules(void **state)
{
	static char text[INV_REDACT_RULES];
	struct inv_err err = { 0 };
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i <= INV_REDACT_KEYS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%sk%u",
				      i ? "," : "", i);
	memset(&rules, 0, sizeof(rules));
	assert_int_equal(inv_redact_parse(&rules, text, n, NULL, &err),
			 INV_ETOOBIG);
	n = 0;
	for (unsigned i = 0; i < 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%0200u",
				      i ? "," : "", i);
	memset(&rules, 0, sizeof(rules));
	assert_int_equal(inv_redact_parse(&rules, text, n, NULL, &err),
			 INV_ETOOBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_without_case_and_separators),
		cmocka_unit_test(long_keys_are_no_keys),
		cmocka_unit_test(words),
		cmocka_unit_test(functions),
		cmocka_unit_test(records),
		cmocka_unit_test(fields_with_names_of_keys),
		cmocka_unit_test(many_records_are_refused),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(too_many_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
