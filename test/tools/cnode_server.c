/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A C node that takes part in sequential traces. It is the example for
 * inviso_cnode(3), and the node that inviso_cnode_SUITE tests.
 *
 *	cnode_server NAME@HOST COOKIE LOG BUFFER OWN PEER...
 *
 * It connects to the Erlang nodes PEER..., prints `ready', and handles messages
 * to {any,'NAME@HOST'}:
 *
 *	{work, From, N}          prints {working,N}; answers {done,2*N}
 *	{relay, I, Name, Term}   sends {relayed,Term} to Name on peer I
 *	{keep, From, N}          stores From and the token under N
 *	{answer, N}              sends {kept,N} to the From stored under N,
 *	                         with the token stored there
 *	{start, From, Label}     begins a trace, and sends {started,Label}
 *	{pid, From}              answers {pid,Pid}
 *	{stop}                   completes the log and ends
 *
 * BUFFER is the size for inviso_cnode_set_buffer. If OWN is 1, the program
 * receives with a function of ei instead of one of inviso.
 */
#include <ei.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inviso_cnode.h"

#define PEERS 8
#define KEPT 8

struct kept {
	int fd;
	erlang_pid from;
	erlang_trace token;
	int traced;
};

struct server {
	ei_cnode ec;
	struct inviso_cnode *c;
	int own_receive;
	int n_peers;
	char **peer;
	int fd[PEERS];
	struct kept kept[KEPT];
	int stopped;
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(erl_errno));
	exit(1);
}

static void connect_all(struct server *s, char *name, const char *cookie)
{
	char *host = strchr(name, '@') + 1;
	char alive[256];
	struct in_addr addr = { .s_addr = htonl(INADDR_LOOPBACK) };

	snprintf(alive, sizeof(alive), "%.*s", (int)(host - name - 1), name);
	must(ei_connect_xinit(&s->ec, host, alive, name, &addr, cookie, 1) >= 0,
	     "init");
	for (int i = 0; i < s->n_peers; i++) {
		s->fd[i] = ei_connect(&s->ec, s->peer[i]);
		must(s->fd[i] >= 0, s->peer[i]);
	}
}

/* Sends {tag,N} to a pid. */
static void answer(struct server *s, int fd, const erlang_pid *to,
		   const char *tag, long n)
{
	ei_x_buff y;

	ei_x_new_with_version(&y);
	ei_x_encode_tuple_header(&y, 2);
	ei_x_encode_atom(&y, tag);
	ei_x_encode_long(&y, n);
	must(inviso_cnode_send(s->c, fd, to, y.buff, y.index, 5000) == 0, tag);
	ei_x_free(&y);
}

static void work(struct server *s, int fd, const erlang_pid *from, long n)
{
	ei_x_buff y;

	ei_x_new_with_version(&y);
	ei_x_encode_tuple_header(&y, 2);
	ei_x_encode_atom(&y, "working");
	ei_x_encode_long(&y, n);
	inviso_cnode_print(s->c, y.buff, y.index);
	ei_x_free(&y);
	answer(s, fd, from, "done", 2 * n);
}

/* Handles {relay, I, Name, Term}. The offset of I in x is `at'. */
static void relay(struct server *s, const ei_x_buff *x, int at)
{
	char name[MAXATOMLEN_UTF8];
	ei_x_buff y;
	long i;
	int begin;

	must(ei_decode_long(x->buff, &at, &i) == 0 && i >= 1 &&
		     i <= s->n_peers && ei_decode_atom(x->buff, &at, name) == 0,
	     "relay");
	begin = at;
	must(ei_skip_term(x->buff, &at) == 0, "term");
	ei_x_new_with_version(&y);
	ei_x_encode_tuple_header(&y, 2);
	ei_x_encode_atom(&y, "relayed");
	ei_x_append_buf(&y, x->buff + begin, at - begin);
	must(inviso_cnode_reg_send(s->c, &s->ec, s->fd[i - 1], name,
				   s->peer[i - 1], y.buff, y.index, 5000) == 0,
	     "reg_send");
	ei_x_free(&y);
}

static void keep(struct server *s, int fd, const erlang_pid *from, long n)
{
	struct kept *k = &s->kept[n % KEPT];

	k->fd = fd;
	k->from = *from;
	k->traced = inviso_cnode_get_token(s->c, &k->token);
}

static void answer_kept(struct server *s, long n)
{
	const struct kept *k = &s->kept[n % KEPT];

	inviso_cnode_set_token(s->c, k->traced ? &k->token : NULL);
	answer(s, k->fd, &k->from, "kept", n);
}

static void tell_pid(struct server *s, int fd, const erlang_pid *to)
{
	ei_x_buff y;

	ei_x_new_with_version(&y);
	ei_x_encode_tuple_header(&y, 2);
	ei_x_encode_atom(&y, "pid");
	ei_x_encode_pid(&y, ei_self(&s->ec));
	must(inviso_cnode_send(s->c, fd, to, y.buff, y.index, 0) == 0, "pid");
	ei_x_free(&y);
}

/* Handles the messages whose second element is the sender. */
static void serve_from(struct server *s, int fd, const char *what,
		       const ei_x_buff *x, int at)
{
	erlang_pid from;
	long n = 0;

	must(ei_decode_pid(x->buff, &at, &from) == 0, what);
	if (strcmp(what, "pid") == 0) {
		tell_pid(s, fd, &from);
		return;
	}
	must(ei_decode_long(x->buff, &at, &n) == 0, what);
	if (strcmp(what, "work") == 0) {
		work(s, fd, &from, n);
	} else if (strcmp(what, "keep") == 0) {
		keep(s, fd, &from, n);
	} else if (strcmp(what, "start") == 0) {
		must(inviso_cnode_start(s->c, n,
					INVISO_CNODE_SEND |
						INVISO_CNODE_RECEIVE |
						INVISO_CNODE_PRINT) == 0,
		     "start");
		answer(s, fd, &from, "started", n);
	}
}

static void serve(struct server *s, int fd, const ei_x_buff *x)
{
	char what[MAXATOMLEN_UTF8];
	int at = 0, arity, version;
	long n;

	if (ei_decode_version(x->buff, &at, &version) ||
	    ei_decode_tuple_header(x->buff, &at, &arity) ||
	    ei_decode_atom(x->buff, &at, what))
		return; /* not for this server */
	if (strcmp(what, "stop") == 0) {
		s->stopped = 1;
	} else if (strcmp(what, "relay") == 0) {
		relay(s, x, at);
	} else if (strcmp(what, "answer") == 0) {
		must(ei_decode_long(x->buff, &at, &n) == 0, what);
		answer_kept(s, n);
	} else {
		serve_from(s, fd, what, x, at);
	}
}

/* Returns a connection that has data to read. */
static int next_fd(const struct server *s)
{
	struct pollfd p[PEERS];

	for (int i = 0; i < s->n_peers; i++)
		p[i] = (struct pollfd){ .fd = s->fd[i], .events = POLLIN };
	must(poll(p, (nfds_t)s->n_peers, -1) > 0, "poll");
	for (int i = 0; i < s->n_peers; i++)
		if (p[i].revents)
			return s->fd[i];
	return -1;
}

static int receive(struct server *s, int fd, erlang_msg *msg, ei_x_buff *x)
{
	int r;

	if (!s->own_receive)
		return inviso_cnode_receive_msg(s->c, fd, msg, x, 0);
	r = ei_xreceive_msg(fd, msg, x);
	if (r == ERL_MSG)
		inviso_cnode_received(s->c, msg, x);
	return r;
}

int main(int argc, char **argv)
{
	static struct server s;
	char why[INVISO_CNODE_WHY];
	erlang_msg msg = { 0 };
	ei_x_buff x;
	int fd, r;

	if (argc < 7 || argc > 6 + PEERS)
		return 2;
	ei_init();
	s.peer = argv + 6;
	s.n_peers = argc - 6;
	s.own_receive = strcmp(argv[5], "1") == 0;
	connect_all(&s, argv[1], argv[2]);
	s.c = inviso_cnode_open(argv[3], &s.ec, NULL, why, sizeof(why));
	if (!s.c) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	inviso_cnode_set_buffer(s.c, strtoul(argv[4], NULL, 10));
	printf("ready\n");
	fflush(stdout);
	ei_x_new(&x);
	while (!s.stopped) {
		fd = next_fd(&s);
		r = receive(&s, fd, &msg, &x);
		if (r == ERL_ERROR)
			break; /* a node has ended */
		if (r == ERL_MSG &&
		    (msg.msgtype == ERL_SEND || msg.msgtype == ERL_REG_SEND))
			serve(&s, fd, &x);
	}
	ei_x_free(&x);
	return inviso_cnode_close(s.c) == 0 ? 0 : 1;
}
