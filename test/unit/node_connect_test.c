/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/eventfd.h>

#include "node/handshake.h"
#include "unit/node_fake.h"

/* Tests the message and the error code of each way in which connecting can
 * fail. */

static struct inv_err err;

static int try_with(const char *node, const struct inv_conn_opts *opts)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c = open_conn(in, node, opts);
	int r = await_up(c, &err);

	if (r < 0) {
		struct inv_mail m = take(in);

		assert_int_equal(m.kind, INV_MAIL_LOST);
		assert_int_equal(m.err.code, r);
		assert_string_equal(m.err.text, err.text);
		assert_non_null(strstr(err.text, node));
		print_message("# %s\n", err.text);
	}
	inv_conn_close(c);
	inv_inbox_free(in);
	return r;
}

static void assert_words(const char *words)
{
	if (!strstr(err.text, words))
		fail_msg("'%s' is not in: %s", words, err.text);
}

static int try_one(const char *node)
{
	return try_with(node, NULL);
}

static void a_host_that_is_not_known(void **state)
{
	(void)state;
	assert_int_equal(try_one("a@no-such-host.invalid"), INV_EUNREACHABLE);
	assert_words("there is no host 'no-such-host.invalid'");
}

static void a_host_without_epmd(void **state)
{
	(void)state;
	use_epmd(free_port());
	assert_int_equal(try_one("a@localhost"), INV_EUNREACHABLE);
	use_epmd(epmd_port);
	assert_words("no epmd on localhost");
	assert_words("ERL_EPMD_PORT");
	assert_words("-n a@localhost:PORT");
}

static void an_epmd_port_that_is_none(void **state)
{
	static const char *const bad[] = { "x", "0", "65536", "12x", "-1" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(setenv("ERL_EPMD_PORT", bad[i], 1), 0);
		assert_int_equal(try_one("a@localhost"), INV_EINVAL);
	}
	use_epmd(epmd_port);
}

static void a_node_that_epmd_does_not_know(void **state)
{
	struct peer p[2];

	(void)state;
	assert_int_equal(try_one("none@localhost"), INV_ENONODE);
	assert_words("no node 'none' on localhost, nor any other");
	start_peer(&p[0], "known0", NULL);
	start_peer(&p[1], "known1", NULL);
	assert_int_equal(try_one("none@localhost"), INV_ENONODE);
	assert_words("known0");
	assert_words("known1");
	stop_peer(&p[0]);
	stop_peer(&p[1]);
}

static void a_port_at_which_no_process_listens(void **state)
{
	struct fake f;

	(void)state;
	start_fake_at(&f, free_port());
	assert_int_equal(try_one("a@localhost"), INV_EUNREACHABLE);
	assert_words("nothing does");
	stop_fake(&f);
}

/* --- a port instead of epmd ----------------------------------------------- */

/* Connects to the node at this address. epmd is not asked. */
static int try_at(const char *node, const char *host, uint16_t port)
{
	struct inv_node_at at = { .port = port };
	struct inv_conn_opts opts = { .at = &at };
	int r;

	snprintf(at.host, sizeof(at.host), "%s", host);
	use_epmd(free_port());
	r = try_with(node, &opts);
	use_epmd(epmd_port);
	return r;
}

static uint16_t port_of(const struct peer *p)
{
	struct inv_node_name name = name_of(p->name);
	struct inv_patience patience = { inv_mono_ms() + HANG_MS, -1 };
	struct inv_endpoint e;

	assert_int_equal(inv_endpoint_find(&name, NULL, &e, &patience, &err),
			 0);
	assert_false(e.direct);
	return e.port;
}

static void a_port_instead_of_epmd(void **state)
{
	char target[100];
	struct peer p;
	uint16_t port;

	(void)state;
	start_peer(&p, "direct", NULL);
	port = port_of(&p);
	snprintf(target, sizeof(target), "direct@localhost:%u", port);
	use_epmd(free_port());
	assert_int_equal(try_one(target), 0);
	use_epmd(epmd_port);
	assert_int_equal(try_at(p.name, "127.0.0.1", port), 0);
	assert_int_equal(try_at("other@localhost", "127.0.0.1", port),
			 INV_EUNREACHABLE);
	assert_words("calls itself direct@localhost: give that name with -n");
	assert_words("--at 127.0.0.1:");
	stop_peer(&p);
}

/* If --at gives the address, the host in the node's name need not exist. */
static void a_node_whose_host_is_not_known(void **state)
{
	struct peer p;

	(void)state;
	start_peer(&p, "far@no-such-host.invalid", NULL);
	assert_int_equal(try_one(p.name), INV_EUNREACHABLE);
	assert_words("--at HOST:PORT");
	snprintf(p.name, sizeof(p.name), "far@127.0.0.1");
	assert_int_equal(try_at("far@no-such-host.invalid", "localhost",
				port_of(&p)),
			 0);
	stop_peer(&p);
}

static void *close_at_once(void *arg)
{
	const struct fake *f = arg;
	int fd;

	while ((fd = accept(f->listening, NULL, NULL)) >= 0)
		close(fd);
	return NULL;
}

static void ports_at_which_there_is_no_node(void **state)
{
	struct fake f;
	uint16_t port = free_port();

	(void)state;
	assert_int_equal(try_at("a@h", "localhost", port), INV_EUNREACHABLE);
	assert_words("nothing listens on localhost port");
	/* The server closes each connection at once. So does a program that
	 * forwards a port but cannot reach the node. */
	f.listening = listen_any(&port);
	assert_int_equal(pthread_create(&f.thread, NULL, close_at_once, &f), 0);
	assert_int_equal(try_at("a@h", "localhost", port), INV_EUNREACHABLE);
	assert_words("the forward does not reach the node");
	stop_fake(&f);
}

static bool has_ipv6(void)
{
	struct inv_addr a = inv_addr_loopback(AF_INET6);
	int s = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has = s >= 0 && bind(s, &a.sock.any, a.len) == 0;

	close(s);
	return has;
}

/* The node listens only on IPv6. The epmd of the test answers on IPv4. */
static void a_node_that_listens_on_ipv6(void **state)
{
	static const char *const six[] = {
		"-proto_dist",	     "inet6_tcp",
		"-kernel",	     "inet_dist_use_interface",
		"{0,0,0,0,0,0,0,1}", NULL
	};
	struct peer p;

	(void)state;
	if (!has_ipv6())
		skip();
	start_peer(&p, "six@::1", six);
	assert_int_equal(try_at(p.name, "::1", port_of(&p)), 0);
	assert_int_equal(try_at(p.name, "127.0.0.1", port_of(&p)),
			 INV_EUNREACHABLE);
	assert_words("nothing listens");
	/* epmd answers on another address than the node. */
	assert_int_equal(try_one("six"), 0);
	stop_peer(&p);
}

static void something_else_at_the_port_of_epmd(void **state)
{
	static const char *const what[] = { "HTTP/1.1 400 Bad Request\r\n", "w",
					    "w\0" };
	struct fake f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		start_fake_epmd(&f, what[i], i == 2 ? 2 : strlen(what[i]));
		assert_int_equal(try_one("a@localhost"), INV_EUNREACHABLE);
		assert_words("is not epmd");
		stop_fake(&f);
	}
}

static void an_epmd_that_says_nothing(void **state)
{
	struct inv_conn_opts opts = { .connect_ms = 300 };
	struct fake f;

	(void)state;
	start_fake_epmd(&f, "", 0);
	assert_int_equal(try_with("a@localhost", &opts), INV_EUNREACHABLE);
	assert_words("does not answer in time");
	stop_fake(&f);
}

static void a_node_that_says_nothing(void **state)
{
	struct inv_conn_opts opts = { .connect_ms = 300 };
	struct fake f;
	uint16_t port;
	int node = listen_any(&port);

	(void)state;
	start_fake_at(&f, port);
	assert_int_equal(try_with("a@localhost", &opts), INV_EUNREACHABLE);
	assert_words("does not answer in time");
	stop_fake(&f);
	close(node);
}

static void connecting_can_be_cancelled(void **state)
{
	struct inv_conn_opts opts = { .connect_ms = 600000 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct fake f;
	int64_t began = inv_mono_ms();

	(void)state;
	start_fake_epmd(&f, "", 0);
	c = open_conn(in, "a@localhost", &opts);
	usleep(100000);
	inv_conn_close(c);
	assert_true(inv_mono_ms() - began < 60000);
	stop_fake(&f);
	inv_inbox_free(in);
}

/* Each example is an answer in place of a handshake. A server that is not an
 * Erlang node may send it. */
static void no_node_at_the_port(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		int code;
		const char *words;
	} says[] = {
		{ "\x15\x03\x03\x00\x02\x02\x0a", 7, INV_EUNREACHABLE,
		  "TLS distribution" },
		{ "SSH-2.0-x\r\n", 11, INV_EUNREACHABLE, "not an Erlang node" },
		{ "\0\4snok", 6, INV_EREFUSED, "another client of this name" },
		{ "\0\6salive", 8, INV_EREFUSED,
		  "another client of this name" },
		{ "\0\xcsnot_allowed", 14, INV_EREFUSED, "net_kernel:allow" },
		{ "\0\5shello", 8, INV_EREFUSED, "log may say why" },
		{ "\0\3sok", 5, INV_EREFUSED, "log may say why" },
		{ "\0\3sok\0\1N", 8, INV_EUNREACHABLE, "handshake" },
		{ "\0\3sok\xff\xffN", 8, INV_EREFUSED, "" },
		{ "\0\0", 2, INV_EREFUSED, "" },
	};
	struct fake epmd;
	struct fake node;
	uint16_t port;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		start_fake(&node, &port, says[i].bytes, says[i].n);
		start_fake_at(&epmd, port);
		assert_int_equal(try_one("a@localhost"), says[i].code);
		assert_words(says[i].words);
		stop_fake(&epmd);
		stop_fake(&node);
	}
}

/* A node may die during the handshake. The bytes that it sent before are still
 * received. */
static const char status[] = "\0\3sok";
static const char challenge[] = "\0\3sok"
				"\0\x1eN\0\0\0\x0d\x07\xdf\x7f\xbd"
				"\1\2\3\4\0\0\0\5\0\x0b"
				"a@localhost";

static void a_node_that_dies_while_we_connect(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool resets;
	} dies[] = {
		{ "", 0, false },
		{ status, sizeof(status) - 1, false },
		{ challenge, sizeof(challenge) - 1, false },
		{ challenge, sizeof(challenge) - 1, true },
	};
	struct fake epmd;
	struct dying node;
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < sizeof(dies) / sizeof(dies[0]); i++) {
		start_dying(&node, &port, dies[i].bytes, dies[i].n,
			    dies[i].resets);
		start_fake_at(&epmd, port);
		assert_int_equal(try_one("a@localhost"), INV_EUNREACHABLE);
		assert_words("ended while connecting");
		stop_fake(&epmd);
		pthread_join(node.thread, NULL);
	}
}

/* A server that receives a client's name, and then closes the connection
 * without sending anything. */
struct shy {
	int listening;
	unsigned names;
	uint8_t name[8][128];
};

/* The number of bytes in a handshake up to the end of the number in the
 * client's name, such as 5f in inviso-5f. */
#define NAMED (17 + 9)

static void *be_shy(void *arg)
{
	struct shy *s = arg;
	int fd;

	while ((fd = accept(s->listening, NULL, NULL)) >= 0) {
		uint8_t *at = s->name[s->names % 8];
		char rest[128];

		/* A client that only checks whether the node runs sends no
		 * name, and is not counted. A name may arrive in parts. */
		s->names += recv(fd, at, NAMED, MSG_WAITALL) == NAMED &&
			    recv(fd, rest, sizeof(rest), 0) > 0;
		close(fd);
	}
	return NULL;
}

/* Returns the client's name in handshake message i. The name follows after the
 * length (2 bytes), 'N', flags (8), creation (4) and the name's length (2). */
static const char *name_in(const struct shy *s, unsigned i)
{
	return (const char *)s->name[i] + 17;
}

/* The node may still have a connection of an earlier command with the same
 * name. Then it closes the new connection without a message, and the command
 * tries another name. */
static void another_name_is_tried_where_one_is_refused_silently(void **state)
{
	struct shy s = { 0 };
	pthread_t thread;
	struct fake epmd;
	uint16_t port;

	(void)state;
	s.listening = listen_any(&port);
	assert_int_equal(pthread_create(&thread, NULL, be_shy, &s), 0);
	start_fake_at(&epmd, port);
	assert_int_equal(try_one("a@localhost"), INV_EUNREACHABLE);
	assert_words("closed the connection at once");
	stop_fake(&epmd);
	shutdown(s.listening, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(s.listening);
	assert_int_equal(s.names, 3);
	assert_string_not_equal(name_in(&s, 0), name_in(&s, 1));
	assert_string_not_equal(name_in(&s, 1), name_in(&s, 2));
}

/* The node sends the same messages as a node that dies, and closes the
 * connection. But epmd says that this node still runs, so the reason must be a
 * wrong cookie. */
static void a_node_that_closes_after_our_answer(void **state)
{
	struct fake epmd;
	struct fake node;
	uint16_t port;

	(void)state;
	start_fake(&node, &port, challenge, sizeof(challenge) - 1);
	start_fake_at(&epmd, port);
	assert_int_equal(try_one("a@localhost"), INV_EREFUSED);
	assert_words("another cookie");
	stop_fake(&epmd);
	stop_fake(&node);
}

/* Makes a handshake with a node that closes the connection after the command's
 * answer to its challenge. The command then asks the epmd at port `epmd'
 * whether the node still runs. */
static int try_closing(uint16_t epmd, int cancel)
{
	struct inv_patience p = { .until = inv_mono_ms() + 60000,
				  .cancel = cancel };
	struct inv_node_name name = name_of("a@localhost");
	struct inv_handshake out;
	struct inv_endpoint at = { .n_addrs = 1 };
	struct fake node;
	int r;

	at.addrs[0] = inv_addr_loopback(AF_INET);
	start_fake(&node, &at.port, challenge, sizeof(challenge) - 1);
	use_epmd(epmd);
	r = inv_handshake(&name, &at, "cookie", NULL, &p, &out, &err);
	stop_fake(&node);
	return r;
}

/* The node closes the connection after the command's answer, and epmd fails. So
 * nothing shows that the node has ended, and the command reports a wrong
 * cookie. */
static void an_epmd_that_fails_does_not_make_the_node_gone(void **state)
{
	struct fake epmd;

	(void)state;
	assert_int_equal(try_closing(free_port(), -1), INV_EREFUSED);
	assert_words("another cookie");
	for (size_t i = 0; i < 2; i++) {
		uint16_t port;

		start_fake(&epmd, &port, i ? "w" : "HTTP", i ? 1 : 4);
		assert_int_equal(try_closing(port, -1), INV_EREFUSED);
		assert_words("another cookie");
		stop_fake(&epmd);
	}
}

struct canceller {
	int listening;
	int cancel;
};

static void *cancel_when_asked(void *arg)
{
	struct canceller *c = arg;
	int fd = accept(c->listening, NULL, NULL);
	char byte;

	(void)recv(fd, &byte, 1, 0);
	(void)eventfd_write(c->cancel, 1);
	while (recv(fd, &byte, 1, 0) > 0)
		;
	close(fd);
	return NULL;
}

static void a_cancel_while_epmd_is_asked_again_is_one(void **state)
{
	struct canceller c;
	pthread_t thread;
	uint16_t port;

	(void)state;
	c.listening = listen_any(&port);
	c.cancel = eventfd(0, EFD_CLOEXEC);
	assert_true(c.cancel >= 0);
	assert_int_equal(pthread_create(&thread, NULL, cancel_when_asked, &c),
			 0);
	assert_int_equal(try_closing(port, c.cancel), INV_ELOST);
	assert_words("cancelled");
	pthread_join(thread, NULL);
	close(c.listening);
	close(c.cancel);
}

/* When the command asks epmd again, epmd no longer has the node's name, so the
 * node has ended. */
static void a_node_that_unregisters_while_we_connect(void **state)
{
	static const uint8_t none[] = { 119, 1 };
	struct fake epmd;
	uint16_t port;

	(void)state;
	start_fake(&epmd, &port, none, sizeof(none));
	assert_int_equal(try_closing(port, -1), INV_ENONODE);
	assert_words("ended while connecting");
	stop_fake(&epmd);
}

static void another_cookie(void **state)
{
	struct inv_conn_opts opts = { .cookie = "wrong" };
	struct peer p;

	(void)state;
	start_peer(&p, "cookie", NULL);
	assert_int_equal(try_with(p.name, &opts), INV_EREFUSED);
	assert_words("another cookie");
	assert_words("--cookie-file");
	stop_peer(&p);
}

/* Returns the number in the name under which the node knows this connection. */
static unsigned long number_of(struct inv_conn *c)
{
	const char *name = inv_conn_self(c)->node;

	assert_int_equal(strncmp(name, "inviso-", 7), 0);
	return strtoul(name + 7, NULL, 16);
}

static long atoms(struct inv_inbox *in, const char *node)
{
	struct inv_conn *c = connect_to(in, node, NULL);
	struct inv_mail answer;
	long n;

	assert_int_equal(call(c, "erlang", "system_info", "[atom_count]", 30000,
			      &answer, &err),
			 0);
	n = long_of(&answer);
	inv_mail_release(&answer);
	inv_conn_close(c);
	return n;
}

/* Each name of a command becomes an atom on the node, and atoms are never
 * freed. So commands use the same names again. */
static void names_are_used_again(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct peer p;
	long before;

	(void)state;
	start_peer(&p, "names", NULL);
	before = atoms(in, p.name);
	for (unsigned i = 0; i < 150; i++) {
		struct inv_conn *c = connect_to(in, p.name, NULL);

		assert_true(number_of(c) < 256);
		inv_conn_close(c);
	}
	/* Commands use 64 names. If four names in a row are in use on the node,
	 * commands use 128 names. */
	assert_true(atoms(in, p.name) - before <= 128);
	stop_peer(&p);
	inv_inbox_free(in);
}

/* Several addresses can lead to the same node. The node closes a connection if
 * another connection with the same name begins. So each connection of a command
 * needs its own name. */
static void connections_of_one_command_to_one_node(void **state)
{
	struct inv_conn_opts patient = { .connect_ms = HANG_MS };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c[8];
	struct peer p;

	(void)state;
	start_peer(&p, "at_once", NULL);
	for (unsigned i = 0; i < 8; i++)
		c[i] = open_conn(in, p.name, &patient);
	for (unsigned i = 0; i < 8; i++)
		if (await_up(c[i], &err) < 0)
			fail_msg("%s", err.text);
	for (unsigned i = 0; i < 8; i++)
		inv_conn_close(c[i]);
	stop_peer(&p);
	inv_inbox_free(in);
}

/* libei calls gethostid(). The gethostid() of libc returns the same number each
 * time, and may first look up this machine's name, which can take many seconds.
 * inviso has a gethostid() of its own, which returns random numbers. */
static void libei_does_not_look_up_this_machine(void **state)
{
	long id = gethostid();

	(void)state;
	assert_int_not_equal(gethostid(), id);
}

#define MANY 80

static void more_commands_than_names(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c[MANY];
	struct peer p;

	(void)state;
	start_peer(&p, "many", NULL);
	for (unsigned i = 0; i < MANY; i++)
		c[i] = connect_to(in, p.name, NULL);
	for (unsigned i = 0; i < MANY; i++)
		for (unsigned k = 0; k < i; k++)
			assert_int_not_equal(number_of(c[i]), number_of(c[k]));
	for (unsigned i = 0; i < MANY; i++)
		inv_conn_close(c[i]);
	stop_peer(&p);
	inv_inbox_free(in);
}

static void a_node_that_allows_others_only(void **state)
{
	static const char *const allow[] = {
		"-eval", "net_kernel:allow([somebody@localhost]).", NULL
	};
	struct peer p;

	(void)state;
	start_peer(&p, "allows", allow);
	assert_int_equal(try_one(p.name), INV_EREFUSED);
	assert_words("net_kernel:allow");
	stop_peer(&p);
}

static void a_short_name_for_a_long_one_and_the_reverse(void **state)
{
	struct peer p[2];

	(void)state;
	start_peer(&p[0], "long@127.0.0.1", NULL);
	start_peer(&p[1], "short", NULL);
	assert_int_equal(try_one("long@localhost"), INV_EUNREACHABLE);
	assert_words("calls itself long@127.0.0.1");
	assert_words("it has a long one");
	assert_int_equal(try_one("short@127.0.0.1"), INV_EUNREACHABLE);
	assert_words("calls itself short@localhost");
	assert_words("it has a short one");
	assert_int_equal(try_one("long@127.0.0.1"), 0);
	assert_int_equal(try_one("short@localhost"), 0);
	stop_peer(&p[0]);
	stop_peer(&p[1]);
}

static void a_name_without_a_host_is_the_node_of_this_machine(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "local@127.0.0.1", NULL);
	c = connect_to(in, "local", NULL);
	assert_string_equal(inv_conn_name(c)->full, "local@127.0.0.1");
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

/* Starts a node with a temporary certificate. Returns false if openssl or
 * OTP's application ssl is missing. */
static bool start_tls_peer(struct peer *p, const char *dir)
{
	char command[600];
	char key[128];
	char cert[128];
	const char *args[] = { "-proto_dist",
			       "inet_tls",
			       "-ssl_dist_opt",
			       "server_certfile",
			       cert,
			       "server_keyfile",
			       key,
			       NULL };

	snprintf(key, sizeof(key), "%s/key", dir);
	snprintf(cert, sizeof(cert), "%s/cert", dir);
	snprintf(
		command, sizeof(command),
		"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x "
		"-keyout %s -out %s >/dev/null 2>&1 && erl -noinput -eval "
		"'{module,_} = code:ensure_loaded(inet_tls_dist), halt().' "
		">/dev/null 2>&1",
		key, cert);
	if (system(command) != 0) // NOLINT(cert-env33-c)
		return false;
	start_peer(p, "tls", args);
	return true;
}

static void a_node_that_speaks_tls(void **state)
{
	char dir[] = "/tmp/node_test.XXXXXX";
	char command[128];
	struct peer p;
	bool there;

	(void)state;
	assert_non_null(mkdtemp(dir));
	there = start_tls_peer(&p, dir);
	if (there) {
		assert_int_equal(try_one(p.name), INV_EUNREACHABLE);
		assert_words("speaks TLS distribution");
		stop_peer(&p);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
	if (!there) {
		print_message("# needs openssl and OTP's ssl\n");
		skip();
	}
}

static void no_cookie_at_all(void **state)
{
	struct inv_conn_opts opts = { .cookie = "" };
	struct inv_node_name n = name_of("a@localhost");
	struct inv_inbox *in = new_inbox();

	(void)state;
	assert_null(inv_conn_open(&n, &opts, in, &err));
	assert_int_equal(err.code, INV_EINVAL);
	inv_inbox_free(in);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_that_is_not_known),
		cmocka_unit_test(a_host_without_epmd),
		cmocka_unit_test(an_epmd_port_that_is_none),
		cmocka_unit_test(a_node_that_epmd_does_not_know),
		cmocka_unit_test(a_port_at_which_no_process_listens),
		cmocka_unit_test(a_port_instead_of_epmd),
		cmocka_unit_test(a_node_whose_host_is_not_known),
		cmocka_unit_test(ports_at_which_there_is_no_node),
		cmocka_unit_test(a_node_that_listens_on_ipv6),
		cmocka_unit_test(something_else_at_the_port_of_epmd),
		cmocka_unit_test(an_epmd_that_says_nothing),
		cmocka_unit_test(a_node_that_says_nothing),
		cmocka_unit_test(connecting_can_be_cancelled),
		cmocka_unit_test(no_node_at_the_port),
		cmocka_unit_test(a_node_that_dies_while_we_connect),
		cmocka_unit_test(
			another_name_is_tried_where_one_is_refused_silently),
		cmocka_unit_test(a_node_that_closes_after_our_answer),
		cmocka_unit_test(
			an_epmd_that_fails_does_not_make_the_node_gone),
		cmocka_unit_test(a_cancel_while_epmd_is_asked_again_is_one),
		cmocka_unit_test(a_node_that_unregisters_while_we_connect),
		cmocka_unit_test(another_cookie),
		cmocka_unit_test(names_are_used_again),
		cmocka_unit_test(more_commands_than_names),
		cmocka_unit_test(connections_of_one_command_to_one_node),
		cmocka_unit_test(libei_does_not_look_up_this_machine),
		cmocka_unit_test(a_node_that_allows_others_only),
		cmocka_unit_test(a_short_name_for_a_long_one_and_the_reverse),
		cmocka_unit_test(
			a_name_without_a_host_is_the_node_of_this_machine),
		cmocka_unit_test(a_node_that_speaks_tls),
		cmocka_unit_test(no_cookie_at_all),
	};

	return cmocka_run_group_tests(tests, start_epmd, stop_epmd);
}
