/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_UNIT_NODE_PEER_H
#define INV_UNIT_NODE_PEER_H

/*
 * Starts real Erlang nodes for a test, and an epmd that only this test uses, so
 * that the test neither sees nor disturbs other nodes of the machine. The nodes
 * end with the test, and each node also ends by itself after ten minutes.
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
#include "node/conn_int.h"
#include "node/decode.h"
#include "node/inbox_int.h"
#include "node/net.h"

/* If an operation takes longer than this, the test counts it as hung. On a busy
 * machine, a node may need a minute to boot. */
#define HANG_MS 200000

/*
 * Waits up to ms for the item with this tag, or for the item CONNECTED if tag
 * is 0. Other items stay in the inbox. If the connection is lost, returns the
 * error code of the item LOST. Returns INV_ETIME if no such item arrives.
 */
static inline int await_mail(struct inv_conn *c, uint64_t tag, int ms,
			     struct inv_mail *out, struct inv_err *err)
{
	struct inv_mail *others[64];
	int64_t until = inv_mono_ms() + ms;
	int r = INV_END;
	size_t n = 0;

	while (r == INV_END) {
		int64_t left = until - inv_mono_ms();

		if (inv_inbox_take(c->in, left > 0 ? (int)left : 0, out)) {
			r = INV_ETIME;
		} else if (out->conn == c && out->kind != INV_MAIL_LOST &&
			   (tag ? out->tag == tag :
				  out->kind == INV_MAIL_CONNECTED)) {
			r = 0;
		} else {
			if (out->conn == c && out->kind == INV_MAIL_LOST) {
				r = out->err.code;
				if (err)
					*err = out->err;
			}
			assert_true(n < 64);
			others[n] = malloc(sizeof(*out));
			assert_non_null(others[n]);
			*others[n++] = *out;
		}
	}
	for (size_t i = 0; i < n; i++)
		inv_inbox_put(c->in, others[i]);
	if (r)
		memset(out, 0, sizeof(*out));
	return r;
}

/* Waits until c is connected. If the connection is lost before that, the item
 * LOST stays in the inbox. */
static inline int await_up(struct inv_conn *c, struct inv_err *err)
{
	struct inv_mail item;

	return await_mail(c, 0, c->opts.connect_ms + 2000, &item, err);
}

/* Returns INV_EREMOTE if the answer is {badrpc, Reason}. */
static inline int rex_answer(const struct inv_mail *answer, struct inv_err *err)
{
	static const char *const badrpc[] = { "badrpc", NULL };
	struct inv_decode d;
	uint32_t arity;
	int word;

	inv_decode_init(&d, answer->term, answer->len);
	if (inv_cursor_tuple(&d.c, &arity) || arity != 2 ||
	    inv_decode_word(&d, badrpc, &word) || word != 0)
		return 0;
	inv_decode_init(&d, answer->term, answer->len);
	return inv_decode_ok(&d, 0, err);
}

/* Waits for the answer to the request with this tag. If an item TIMEOUT, GONE
 * or LOST arrives before the answer, returns its error code. */
static inline int await_answer(struct inv_conn *c, uint64_t tag, int ms,
			       struct inv_mail *answer, struct inv_err *err)
{
	int r = await_mail(c, tag, ms + HANG_MS, answer, err);

	if (r || answer->kind == INV_MAIL_ANSWER)
		return r ? r : rex_answer(answer, err);
	if (err)
		*err = answer->err;
	r = answer->err.code;
	inv_mail_release(answer);
	return r;
}

#define COOKIE "inviso-unit-test"
#define ARGS 32 /* maximum arguments of a program, including the NULL */

struct peer {
	pid_t pid;
	int out; /* the node's standard output */
	char name[64];
};

static pid_t epmd_pid;
static uint16_t epmd_port;

/* Returns a listening socket on the loopback interface, and sets its port. */
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

/* Returns a port at which no process listens. */
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

/* Prepares a child process, and executes argv. Does not return. */
static inline void become(const char *const argv[ARGS], int out)
{
	char *args[ARGS]; /* not const, as the type of execvp requires */

	memcpy(args, argv, sizeof(args));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(out, 1);
	execvp(args[0], args);
	_exit(127);
}

static inline bool can_connect(uint16_t port)
{
	struct inv_addr to = inv_addr_loopback(AF_INET);
	struct inv_patience p = { inv_mono_ms() + 1000, -1 };
	struct inv_wire wire;
	int sys;
	bool can = inv_wire_open(&wire, &to, port, &p, &sys) == 0;

	inv_wire_close(&wire);
	return can;
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

/* Reads a line of the node's output. */
static inline bool read_line(struct peer *p, char *line, size_t size)
{
	struct pollfd fd = { p->out, POLLIN, 0 };
	size_t n = 0;

	while (n + 1 < size && poll(&fd, 1, HANG_MS) > 0 &&
	       read(p->out, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
	return n > 0;
}

/*
 * Starts the node `short@localhost', or a node with a long name if `name' has
 * an @. `more' has at most 12 more arguments for erl, ended by NULL. The node
 * is up when the function returns.
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
	argv[n++] = "spawn(fun() -> timer:sleep(600000), halt() end), "
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

/* Suspends the node's OS process with SIGSTOP. Returns when all threads of the
 * process are suspended. */
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

	assert_int_equal(inv_node_target_parse(&n, text, strlen(text), NULL),
			 0);
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

/* Connects to the node. Returns the established connection. */
static inline struct inv_conn *connect_to(struct inv_inbox *in,
					  const char *node,
					  const struct inv_conn_opts *opts)
{
	struct inv_conn_opts patient = opts ? *opts :
					      (struct inv_conn_opts){ 0 };
	struct inv_conn *c;
	struct inv_err err;

	if (patient.connect_ms == 0)
		patient.connect_ms = HANG_MS;
	c = open_conn(in, node, &patient);
	if (await_up(c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

/* Returns the next mail. */
static inline struct inv_mail take(struct inv_inbox *in)
{
	struct inv_mail m;

	assert_int_equal(inv_inbox_take(in, HANG_MS, &m), 0);
	return m;
}

/* Returns a term that is made from text in the form that ei_x_format takes. */
static inline ei_x_buff term(const char *text)
{
	ei_x_buff x;

	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_format_wo_ver(&x, text), 0);
	return x;
}

/* Returns the bytes of x as a buffer. They still belong to x. */
static inline struct inv_buf request(const ei_x_buff *x)
{
	return (struct inv_buf){ .data = (uint8_t *)x->buff,
				 .len = (size_t)x->index };
}

static inline int call_x(struct inv_conn *c, const char *m, const char *f,
			 const ei_x_buff *args, int ms, struct inv_mail *answer,
			 struct inv_err *err)
{
	struct inv_buf b = request(args);
	uint64_t tag;
	int r;

	if (ms == 0)
		ms = HANG_MS;
	r = inv_conn_rex(c, m, f, &b, ms, &tag, err);
	if (!r)
		r = await_answer(c, tag, ms, answer, err);
	if (r && answer->mem)
		inv_mail_release(answer);
	return r;
}

/* Calls m:f(args) on the node. Returns the code of the answer. */
static inline int call(struct inv_conn *c, const char *m, const char *f,
		       const char *args, int ms, struct inv_mail *answer,
		       struct inv_err *err)
{
	ei_x_buff x = term(args);
	int r = call_x(c, m, f, &x, ms, answer, err);

	ei_x_free(&x);
	return r;
}

static inline uint64_t ask(struct inv_conn *c, const char *m, const char *f,
			   const char *args, int ms)
{
	ei_x_buff x = term(args);
	struct inv_buf b = request(&x);
	uint64_t tag;

	assert_int_equal(inv_conn_rex(c, m, f, &b, ms, &tag, NULL), 0);
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
