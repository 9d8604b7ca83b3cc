/* SPDX-License-Identifier: Apache-2.0 */
#include "node/dns.h"

#include "unit/node_fake.h"

/* Tests that all nodes at the addresses of a DNS name are found. */

static struct inv_err err;

static void what_users_write(void **state)
{
	static const struct {
		const char *text;
		const char *alive;
		const char *name;
		uint16_t port;
	} good[] = {
		{ "shop", "", "shop", 0 },
		{ "shop.default.svc", "", "shop.default.svc", 0 },
		{ "shop:9001", "", "shop", 9001 },
		{ "app@shop", "app", "shop", 0 },
		{ "app@shop:9001", "app", "shop", 9001 },
		{ "app@[::1]:9001", "app", "::1", 9001 },
		{ "fd00::7", "", "fd00::7", 0 },
	};
	static const char *const bad[] = { "",	    "@shop",	"app@",
					   "a@b@c", "shop:0",	"shop:x",
					   "sh op", "a/b@shop", "[::1" };
	char large[600];
	struct inv_dns d;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(inv_dns_parse(&d, good[i].text, &err), 0);
		assert_string_equal(d.alive, good[i].alive);
		assert_string_equal(d.name, good[i].name);
		assert_int_equal(d.port, good[i].port);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(inv_dns_parse(&d, bad[i], &err), INV_EINVAL);
		assert_non_null(strstr(err.text, "app@shop.default:9001"));
	}
	for (size_t n = 250; n < sizeof(large); n++) {
		memset(large, 'x', n);
		large[n] = '\0';
		if (inv_dns_parse(&d, large, &err) == 0)
			assert_string_equal(d.name, large);
	}
}

/* Finds the nodes of --dns `text', with the current epmd. */
static struct inv_dns_nodes found(const char *text)
{
	struct inv_patience p = { inv_mono_ms() + HANG_MS, -1 };
	struct inv_dns_nodes nodes = { 0 };
	struct inv_dns d;

	assert_int_equal(inv_dns_parse(&d, text, &err), 0);
	assert_int_equal(inv_dns_find(&d, &p, &nodes, &err), 0);
	assert_true(nodes.n > 0);
	for (size_t i = 0; i < nodes.n; i++)
		assert_string_equal(nodes.v[i].name.service, d.name);
	return nodes;
}

/* Checks that the search for `text' returns only an error with this code, and
 * that the text of the error contains `words'. */
static void assert_failure(const char *text, int code, const char *words)
{
	struct inv_dns_nodes nodes = found(text);

	assert_int_equal(nodes.n, 1);
	assert_int_equal(nodes.v[0].err.code, code);
	print_message("# %s: %s\n", nodes.v[0].name.full, nodes.v[0].err.text);
	if (!strstr(nodes.v[0].err.text, words))
		fail_msg("'%s' is not in: %s", words, nodes.v[0].err.text);
	inv_dns_nodes_release(&nodes);
}

static void nodes_that_epmd_knows(void **state)
{
	struct inv_dns_nodes nodes;
	struct peer p[2];

	(void)state;
	start_peer(&p[0], "one", NULL);
	start_peer(&p[1], "two", NULL);
	nodes = found("127.0.0.1");
	assert_int_equal(nodes.n, 2);
	for (size_t i = 0; i < nodes.n; i++) {
		const struct inv_node_name *name = &nodes.v[i].name;

		assert_int_equal(nodes.v[i].err.code, 0);
		assert_true(!strcmp(name->full, "one@127.0.0.1") ||
			    !strcmp(name->full, "two@127.0.0.1"));
		assert_int_not_equal(name->port, 0);
	}
	inv_dns_nodes_release(&nodes);
	nodes = found("two@localhost");
	assert_int_equal(nodes.n, 1);
	assert_string_equal(nodes.v[0].name.full, "two@127.0.0.1");
	inv_dns_nodes_release(&nodes);
	assert_failure("three@localhost", INV_ENONODE, "2 other nodes");
	stop_peer(&p[0]);
	stop_peer(&p[1]);
}

static void with_a_port_epmd_is_not_asked(void **state)
{
	struct inv_dns_nodes nodes;

	(void)state;
	use_epmd(free_port());
	nodes = found("127.0.0.1:9001");
	assert_int_equal(nodes.n, 1);
	assert_string_equal(nodes.v[0].name.full, "127.0.0.1:9001");
	assert_string_equal(nodes.v[0].name.alive, "");
	assert_int_equal(nodes.v[0].name.port, 9001);
	inv_dns_nodes_release(&nodes);
	nodes = found("app@127.0.0.1:9001");
	assert_string_equal(nodes.v[0].name.full, "app@127.0.0.1");
	assert_string_equal(nodes.v[0].name.alive, "app");
	inv_dns_nodes_release(&nodes);
	use_epmd(epmd_port);
}

static void addresses_without_nodes(void **state)
{
	(void)state;
	assert_failure("no-such-host.invalid", INV_EUNREACHABLE,
		       "there is no host 'no-such-host.invalid'");
	assert_failure("127.0.0.1", INV_ENONODE, "knows no node");
	use_epmd(free_port());
	assert_failure("127.0.0.1", INV_EUNREACHABLE, "--dns 127.0.0.1:PORT");
	use_epmd(epmd_port);
}

/* The answer of epmd: its port in four bytes, and lines with names. */
#define NAMES(text) "\0\0\x11\x11" text, 4 + sizeof(text) - 1

static void answers_that_epmd_never_sends(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int code;
		const char *words;
	} says[] = {
		{ "HTTP/1.1 400 Bad Request\r\n", 26, INV_EUNREACHABLE,
		  "is not epmd" },
		{ "\0\0\x11", 3, INV_EUNREACHABLE, "is not epmd" },
		{ NAMES("name a at port 5"), INV_ENONODE, "knows no node" },
		{ NAMES("name a at port 0\n"), INV_ENONODE, "knows no node" },
		{ NAMES("name a at port 65536\n"), INV_ENONODE, "no node" },
		{ NAMES("name a at port 7x\n"), INV_ENONODE, "no node" },
		{ NAMES("name  at port 7\n"), INV_ENONODE, "no node" },
		{ NAMES(" at port 7\nname \n\n"), INV_ENONODE, "no node" },
		{ NAMES("name a\x1b[2J at port 7\n"), INV_ENONODE, "no node" },
		{ NAMES("name a@b at port 7\n"), INV_ENONODE, "no node" },
		{ NAMES("name a/b at port 7\n"), INV_ENONODE, "no node" },
	};
	struct inv_dns_nodes nodes;
	struct fake f;

	(void)state;
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		start_fake_epmd(&f, says[i].bytes, says[i].len);
		assert_failure("127.0.0.1", says[i].code, says[i].words);
		stop_fake(&f);
	}
	start_fake_epmd(&f,
			NAMES("x\nname a at port 7\nname b at port 65535\n"));
	nodes = found("127.0.0.1");
	assert_int_equal(nodes.n, 2);
	assert_string_equal(nodes.v[0].name.full, "a@127.0.0.1");
	assert_int_equal(nodes.v[0].name.port, 7);
	assert_int_equal(nodes.v[1].name.port, 65535);
	inv_dns_nodes_release(&nodes);
	stop_fake(&f);
}

static void asking_can_be_cancelled(void **state)
{
	struct inv_patience p = { inv_mono_ms() + HANG_MS, -1 };
	struct inv_dns_nodes nodes = { 0 };
	struct inv_dns d;
	struct fake f;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	start_fake_epmd(&f, "", 0);
	p.cancel = fds[0];
	assert_int_equal(inv_dns_parse(&d, "127.0.0.1", &err), 0);
	assert_int_equal(inv_dns_find(&d, &p, &nodes, &err), INV_ELOST);
	inv_dns_nodes_release(&nodes);
	p = (struct inv_patience){ inv_mono_ms() + 300, -1 };
	assert_int_equal(inv_dns_find(&d, &p, &nodes, &err), 0);
	assert_int_equal(nodes.n, 1);
	assert_int_equal(nodes.v[0].err.code, INV_EUNREACHABLE);
	assert_non_null(strstr(nodes.v[0].err.text, "not answer in time"));
	inv_dns_nodes_release(&nodes);
	stop_fake(&f);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_users_write),
		cmocka_unit_test(nodes_that_epmd_knows),
		cmocka_unit_test(with_a_port_epmd_is_not_asked),
		cmocka_unit_test(addresses_without_nodes),
		cmocka_unit_test(answers_that_epmd_never_sends),
		cmocka_unit_test(asking_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, start_epmd, stop_epmd);
}
