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

static void a_name_without_a_host_is_on_this_machine(void **state)
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

static void an_invalid_name_is_reported_with_an_example(void **state)
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
	/* If a name has no host, this machine's host is added, and the name may
	 * then be too long. */
	memset(big, 'a', 255);
	assert_int_equal(parse(&n, big, &err), INV_EINVAL);
}

static int target(struct inv_node_name *n, const char *text,
		  struct inv_err *err)
{
	return inv_node_target_parse(n, text, strlen(text), err);
}

static void a_port_may_follow_what_the_user_writes(void **state)
{
	static const struct {
		const char *text;
		const char *full;
		unsigned port;
	} right[] = {
		{ "a@h", "a@h", 0 },
		{ "a@h:9001", "a@h", 9001 },
		{ "a@10.0.0.1:1", "a@10.0.0.1", 1 },
		{ "a@::1", "a@::1", 0 },
		{ "a@fe80::1%eth0", "a@fe80::1%eth0", 0 },
		{ "a@[::1]", "a@::1", 0 },
		{ "a@[::1]:65535", "a@::1", 65535 },
	};
	static const char *const wrong[] = {
		"a@h:",
		"a@h:0",
		"a@h:65536",
		"a@h:9x",
		"a@h:-1",
		"a@h:+1",
		"a@h: 1",
		"a@h:000001",
		"a@:9001",
		"a@[]:1",
		"a@[::1",
		"a@[::1]9",
		"a@[::1]:",
		"@h:9",
		":9",
		"a@[::1]:65536",
		"a@h:99999999999999999999",
	};
	struct inv_node_name n;
	struct inv_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_int_equal(target(&n, right[i].text, NULL), 0);
		assert_string_equal(n.full, right[i].full);
		assert_int_equal(n.port, right[i].port);
	}
	assert_int_equal(target(&n, "shop:9001", NULL), 0);
	assert_string_equal(n.alive, "shop");
	assert_true(n.any_host);
	assert_int_equal(n.port, 9001);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(target(&n, wrong[i], &err), INV_EINVAL);
		assert_non_null(strstr(err.text, "write name@host"));
	}
	/* This name was reported by a node, so :9001 is part of its host and
	 * not a port. */
	assert_int_equal(parse(&n, "a@h:9001", NULL), 0);
	assert_int_equal(n.port, 0);
	assert_string_equal(n.host, "h:9001");
}

static void where_a_node_is_needs_host_and_port(void **state)
{
	static const char *const wrong[] = {
		"",	 "h",	  "9001", ":9001", "h:",   "h:x",
		"::1:9", "[::1]", "h:9 ", "h\n:9", "[]:9", "a@h:0"
	};
	struct inv_node_at at;
	struct inv_err err;
	char big[300];

	(void)state;
	assert_int_equal(inv_node_at_parse(&at, "localhost:9001", NULL), 0);
	assert_string_equal(at.host, "localhost");
	assert_int_equal(at.port, 9001);
	assert_int_equal(inv_node_at_parse(&at, "[fe80::1%eth0]:1", NULL), 0);
	assert_string_equal(at.host, "fe80::1%eth0");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(inv_node_at_parse(&at, wrong[i], &err),
				 INV_EINVAL);
		assert_non_null(strstr(err.text, "[::1]:9001"));
	}
	memset(big, 'h', sizeof(big));
	memcpy(big + 256, ":9", 3);
	assert_int_equal(inv_node_at_parse(&at, big, NULL), INV_EINVAL);
	memcpy(big + 255, ":9", 3);
	assert_int_equal(inv_node_at_parse(&at, big, NULL), 0);
	memcpy(big, "a@", 2);
	memcpy(big + 256, ":9", 3);
	assert_int_equal(target(&(struct inv_node_name){ 0 }, big, NULL),
			 INV_EINVAL);
}

static void a_node_has_one_port(void **state)
{
	struct inv_node_names ns = { 0 };
	struct inv_err err;

	(void)state;
	assert_int_equal(inv_node_names_add(&ns, "a@h,a@h:9,b@h:8", &err), 0);
	assert_int_equal(inv_node_names_add(&ns, "b@h", &err), 0);
	assert_int_equal(ns.n, 2);
	assert_int_equal(ns.names[0].port, 9);
	assert_int_equal(ns.names[1].port, 8);
	assert_int_equal(inv_node_names_add(&ns, "a@h:7", &err), INV_EINVAL);
	assert_non_null(strstr(err.text, "two ports, 9 and 7"));
	assert_int_equal(inv_node_names_add_peer(&ns, "c@h:1", &err), 0);
	assert_string_equal(ns.names[2].full, "c@h:1");
	inv_node_names_release(&ns);
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
		cmocka_unit_test(a_name_without_a_host_is_on_this_machine),
		cmocka_unit_test(an_invalid_name_is_reported_with_an_example),
		cmocka_unit_test(a_port_may_follow_what_the_user_writes),
		cmocka_unit_test(where_a_node_is_needs_host_and_port),
		cmocka_unit_test(a_node_has_one_port),
		cmocka_unit_test(an_option_may_have_several_and_none_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
