/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_UNIT_NODE_PEER_H
#define INV_UNIT_NODE_PEER_H

/*
 * Real Erlang nodes for a test, and an epmd of the test's own, so that no node
 * of the machine is seen or disturbed.  All of them end with the test, and a
 * node by itself after a minute.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/call.h"
#include "node/net.h"

#define COOKIE "inviso-unit-test"
#define ARGS 32 /* of a program, the NULL at the end included */

struct peer {
	pid_t pid;
	int out; /* its standard output */
	char name[64];
};

static pid_t epmd_pid;
static uint16_t epmd_port;

/* A listening socket on the loopback interface, and its port. */
static inline int listen_any(uint16_t *port)
{
	struct sockaddr_in sin = { 0 };
	socklen_t len = sizeof(sin);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(s >= 0);
	assert_int_equal(bind(s, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(s, 8), 0);
	assert_int_equal(getsockname(s, (struct sockaddr *)&sin, &len), 0);
	*port = ntohs(sin.sin_port);
	return s;
}

/* A port at which nobody listens. */
static inline uint16_t free_port(void)
{
	uint16_t port;

	close(listen_any(&port));
	return port;
}

static inline void use_epmd(uint16_t port)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", port);
	assert_int_equal(setenv("ERL_EPMD_PORT", text, 1), 0);
}

/* What a child does before it becomes argv; never returns. */
static inline void become(const char *const argv[ARGS], int out)
{
	char *args[ARGS]; /* execvp writes to none of them, and says it may */

	memcpy(args, argv, sizeof(args));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(out, 1);
	execvp(args[0], args);
	_exit(127);
}

static inline bool can_connect(uint16_t port)
{
	struct in_addr to = { htonl(INADDR_LOOPBACK) };
	struct inv_patience p = { inv_net_now() + 1000, -1 };
	int sys;
	int fd;

	if (inv_net_connect(&to, port, &p, &fd, &sys) < 0)
		return false;
	close(fd);
	return true;
}

static inline int start_epmd(void **state)
{
	char port[16];
	const char *argv[ARGS] = { "epmd", "-address", "127.0.0.1", "-port",
				   port };
	int tries = 3000;

	(void)state;
	epmd_port = free_port();
	snprintf(port, sizeof(port), "%u", epmd_port);
	epmd_pid = fork();
	assert_true(epmd_pid >= 0);
	if (epmd_pid == 0)
		become(argv, 2);
	use_epmd(epmd_port);
	while (!can_connect(epmd_port) && --tries > 0)
		usleep(20000);
	return tries > 0 ? 0 : -1;
}

static inline int stop_epmd(void **state)
{
	(void)state;
	kill(epmd_pid, SIGKILL);
	return waitpid(epmd_pid, NULL, 0) == epmd_pid ? 0 : -1;
}

/* A line of the node's output, within 30 s. */
static inline bool read_line(struct peer *p, char *line, size_t size)
{
	struct pollfd fd = { p->out, POLLIN, 0 };
	size_t n = 0;

	while (n + 1 < size && poll(&fd, 1, 30000) > 0 &&
	       read(p->out, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
	return n > 0;
}

/*
 * Starts a node `short@localhost', or a long one if name has an @, with more
 * arguments (at most 12, ended by NULL); it is up on return.
 */
static inline void start_peer(struct peer *p, const char *name,
			      const char *const more[])
{
	const char *argv[ARGS] = { "erl",	  "-noinput", "-hidden",
				   "-start_epmd", "false",    "-setcookie",
				   COOKIE };
	char line[256];
	size_t n = 7;
	int fds[2];

	snprintf(p->name, sizeof(p->name), "%s%s", name,
		 strchr(name, '@') ? "" : "@localhost");
	argv[n++] = strchr(name, '@') ? "-name" : "-sname";
	argv[n++] = p->name;
	while (more && *more)
		argv[n++] = *more++;
	argv[n++] = "-eval";
	argv[n++] = "spawn(fun() -> timer:sleep(60000), halt() end), "
		    "io:put_chars(\"up\\n\").";
	use_epmd(epmd_port);
	assert_int_equal(pipe(fds), 0);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		close(fds[0]);
		become(argv, fds[1]);
	}
	close(fds[1]);
	p->out = fds[0];
	do {
		assert_true(read_line(p, line, sizeof(line)));
	} while (strcmp(line, "up") != 0);
}

/* Stopped, every thread of it, on return. */
static inline void freeze_peer(struct peer *p)
{
	int status;

	kill(p->pid, SIGSTOP);
	assert_int_equal(waitpid(p->pid, &status, WUNTRACED), p->pid);
	assert_true(WIFSTOPPED(status));
}

static inline void stop_peer(struct peer *p)
{
	kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	close(p->out);
}

static inline struct inv_node_name name_of(const char *text)
{
	struct inv_node_name n;

	assert_int_equal(inv_node_name_parse(&n, text, strlen(text), NULL), 0);
	return n;
}

static inline struct inv_inbox *new_inbox(void)
{
	struct inv_inbox *in = inv_inbox_new(NULL);

	assert_non_null(in);
	return in;
}

static inline struct inv_conn *open_conn(struct inv_inbox *in, const char *node,
					 const struct inv_conn_opts *opts)
{
	struct inv_conn_opts with = { .cookie = COOKIE };
	struct inv_node_name n = name_of(node);
	struct inv_conn *c;

	if (opts)
		with = *opts;
	if (!with.cookie)
		with.cookie = COOKIE;
	c = inv_conn_open(&n, &with, in, NULL);
	assert_non_null(c);
	return c;
}

/* Is up. */
static inline struct inv_conn *connect_to(struct inv_inbox *in,
					  const char *node,
					  const struct inv_conn_opts *opts)
{
	struct inv_conn *c = open_conn(in, node, opts);
	struct inv_err err;

	if (inv_conn_wait(c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

/* The next mail, within 30 s. */
static inline struct inv_mail take(struct inv_inbox *in)
{
	struct inv_mail m;

	assert_int_equal(inv_inbox_take(in, 30000, &m), 0);
	return m;
}

/* A term from a text, as ei_x_format takes it. */
static inline ei_x_buff term(const char *text)
{
	ei_x_buff x;

	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_format_wo_ver(&x, text), 0);
	return x;
}

/* m:f(args) there, and what became of it. */
static inline int call(struct inv_conn *c, const char *m, const char *f,
		       const char *args, int ms, struct inv_mail *answer,
		       struct inv_err *err)
{
	ei_x_buff x = term(args);
	int r = inv_call_rex(c, m, f, &x, ms, answer, err);

	ei_x_free(&x);
	return r;
}

static inline uint64_t ask(struct inv_conn *c, const char *m, const char *f,
			   const char *args, int ms)
{
	ei_x_buff x = term(args);
	uint64_t tag;

	assert_int_equal(inv_conn_rex(c, m, f, &x, ms, &tag, NULL), 0);
	ei_x_free(&x);
	return tag;
}

static inline long long_of(const struct inv_mail *m)
{
	int index = 0;
	long v;

	assert_int_equal(ei_decode_long(m->term, &index, &v), 0);
	assert_int_equal(index, m->len);
	return v;
}

#endif
