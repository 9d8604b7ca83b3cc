/* SPDX-License-Identifier: Apache-2.0 */
#include "node/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int parse(struct inv_node_name *n, const char *text, struct inv_err *err)
{
	return inv_node_name_parse(n, text, strlen(text), err);
}

static void dots_or_an_address_make_a_name_long(void **state)
{
	static const struct {
		const char *text;
		bool is_long;
	} names[] = {
		{ "a@host", false },	   { "a@host.example", true },
		{ "a@127.0.0.1", true },   { "a@::1", true },
		{ "a.b-c_d@host", false }, { "\xc3\xa9@host", false },
	};
	struct inv_node_name n;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(parse(&n, names[i].text, NULL), 0);
		assert_string_equal(n.full, names[i].text);
		assert_int_equal(n.is_long, names[i].is_long);
		assert_false(n.any_host);
		assert_string_equal(n.host, strchr(names[i].text, '@') + 1);
		assert_int_equal(strlen(n.alive) + 1 + strlen(n.host),
				 strlen(n.full));
	}
}

static void without_a_host_it_is_on_this_machine(void **state)
{
	struct inv_node_name n;
	char host[256];
	char full[300];

	(void)state;
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	host[strcspn(host, ".")] = '\0';
	snprintf(full, sizeof(full), "shop@%s", host);
	assert_int_equal(parse(&n, "shop", NULL), 0);
	assert_true(n.any_host);
	assert_false(n.is_long);
	assert_string_equal(n.full, full);
	assert_string_equal(n.alive, "shop");
}

static void what_is_no_name_is_told_with_what_would_be(void **state)
{
	static const char *const bad[] = { "",	     "@host",	"a@",
					   "a@b@c",  "a b",	"a@h ",
					   "a\n@h",  "a@@",	"/a@h",
					   "a@../h", "a\xff@h", "a@\xc2\x9bh" };
	struct inv_node_name n;
	struct inv_err err;
	char big[300];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(&n, bad[i], &err), INV_EINVAL);
		assert_non_null(strstr(err.text, "write name@host"));
		assert_null(strpbrk(err.text, "\n\xff\x9b"));
	}
	memset(big, 'a', sizeof(big));
	memcpy(big + 250, "@hosts", 7);
	assert_int_equal(parse(&n, big, &err), INV_EINVAL);
	big[249] = '@';
	big[255] = '\0';
	memcpy(big + 250, "hosts", 5);
	assert_int_equal(parse(&n, big, &err), 0);
	/* no host: with this machine's it may become too long */
	memset(big, 'a', 255);
	assert_int_equal(parse(&n, big, &err), INV_EINVAL);
}

static void an_option_may_have_several_and_none_twice(void **state)
{
	struct inv_node_names ns = { 0 };
	struct inv_err err;

	(void)state;
	assert_int_equal(inv_node_names_add(&ns, "a@h,b@h,a@h", &err), 0);
	assert_int_equal(inv_node_names_add(&ns, "c@h", &err), 0);
	assert_int_equal(inv_node_names_add(&ns, "b@h", &err), 0);
	assert_int_equal(ns.n, 3);
	assert_string_equal(ns.names[0].full, "a@h");
	assert_string_equal(ns.names[1].full, "b@h");
	assert_string_equal(ns.names[2].full, "c@h");
	assert_int_equal(inv_node_names_add(&ns, "d@h,,e@h", &err), INV_EINVAL);
	assert_int_equal(inv_node_names_add(&ns, "", &err), INV_EINVAL);
	inv_node_names_release(&ns);
	assert_int_equal(ns.n, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(dots_or_an_address_make_a_name_long),
		cmocka_unit_test(without_a_host_it_is_on_this_machine),
		cmocka_unit_test(what_is_no_name_is_told_with_what_would_be),
		cmocka_unit_test(an_option_may_have_several_and_none_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
