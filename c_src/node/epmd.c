/* SPDX-License-Identifier: Apache-2.0 */
#include "node/epmd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EPMD_PORT 4369
#define ADDRS_MAX 8
#define NAMES_MAX 16384 /* bytes of an answer that are looked at */

/* Of the epmd protocol. */
enum {
	PORT_PLEASE2_REQ = 122,
	PORT2_RESP = 119,
	NAMES_REQ = 110,
};

static int epmd_port(uint16_t *port, struct inv_err *err)
{
	// NOLINTNEXTLINE(concurrency-mt-unsafe)
	const char *s = getenv("ERL_EPMD_PORT");
	char *end;
	long v;

	*port = EPMD_PORT;
	if (!s || !s[0])
		return 0;
	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || *end || v < 1 || v > 65535)
		return inv_err_set(err, INV_EINVAL,
				   "ERL_EPMD_PORT is '%s', which is no port",
				   s);
	*port = (uint16_t)v;
	return 0;
}

/* Where epmd is, while we speak with it. */
struct epmd {
	const struct inv_node_name *node;
	const struct inv_patience *p;
	struct in_addr addrs[ADDRS_MAX];
	size_t n_addrs;
	size_t at; /* the address that answered */
	uint16_t port;
	int fd;
};

static int failed(const struct epmd *e, int r, int sys, struct inv_err *err)
{
	const char *host = e->node->host;

	if (r == INV_ELOST)
		return inv_err_set(err, r, "cancelled");
	if (r == INV_EIO && sys == ECONNREFUSED)
		return inv_err_set(
			err, INV_EUNREACHABLE,
			"no epmd on %s (port %u): no Erlang node runs there, "
			"or its epmd listens elsewhere (set ERL_EPMD_PORT), or "
			"it runs without one, which is not supported",
			host, e->port);
	if (r == INV_EIO)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "epmd on %s (port %u): %s", host, e->port,
				   strerrordesc_np(sys));
	if (r == INV_ETIME)
		return inv_err_set(err, INV_EUNREACHABLE,
				   "epmd on %s (port %u) does not answer in "
				   "time: host down, or a firewall?",
				   host, e->port);
	return inv_err_set(err, INV_EUNREACHABLE,
			   "what listens on %s port %u is not epmd (set "
			   "ERL_EPMD_PORT where epmd has another port)",
			   host, e->port);
}

/* To the first address that takes us, from the one that did last. */
static int connect_epmd(struct epmd *e, struct inv_err *err)
{
	int sys = 0;
	int r = INV_EIO;

	for (; e->at < e->n_addrs; e->at++) {
		r = inv_net_connect(&e->addrs[e->at], e->port, e->p, &e->fd,
				    &sys);
		if (r == 0)
			return 0;
		if (r != INV_EIO)
			break;
	}
	return failed(e, r, sys, err);
}

static int ask(struct epmd *e, const void *req, size_t len, struct inv_err *err)
{
	uint8_t head[2] = { (uint8_t)(len >> 8), (uint8_t)len };
	int sys = 0;
	int r = connect_epmd(e, err);

	if (r < 0)
		return r;
	r = inv_net_write(e->fd, head, sizeof(head), e->p, &sys);
	if (r == 0)
		r = inv_net_write(e->fd, req, len, e->p, &sys);
	return r < 0 ? failed(e, r, sys, err) : 0;
}

/* Graphic ASCII, as names of nodes mostly are: whoever listens there may send
 * what commands a terminal. */
static int print_name(char *text, size_t size, const char *name, size_t len)
{
	char plain[256];
	size_t i;

	for (i = 0; i < len && i < sizeof(plain); i++)
		plain[i] =
			(char)(name[i] > ' ' && name[i] < 0x7f ? name[i] : '?');
	return snprintf(text, size, "%.*s", (int)i, plain);
}

/*
 * The answer to NAMES_REQ: epmd's own port in four bytes, then a line "name x
 * at port n" for each node.  Appends "x, y" to text; says how many.
 */
static size_t list_names(const char *answer, size_t len, char *text,
			 size_t size)
{
	const char *p = answer;
	const char *end = answer + len;
	size_t used = strlen(text);
	size_t n = 0;

	while (p < end) {
		const char *line = p;
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t w;

		p = eol ? eol + 1 : end;
		if (!eol || eol - line < 6 || memcmp(line, "name ", 5) != 0)
			continue;
		line += 5;
		w = strcspn(line, " \n");
		n++;
		if (used + w + 8 > size) {
			snprintf(text + used, size - used, ", ...");
			return n;
		}
		if (n > 1)
			used += (size_t)snprintf(text + used, size - used,
						 ", ");
		used += (size_t)print_name(text + used, size - used, line, w);
	}
	return n;
}

static size_t known_names(struct epmd *e, char *text, size_t size)
{
	static const uint8_t req = NAMES_REQ;
	char *answer = malloc(NAMES_MAX);
	size_t len = 0;
	size_t got = 1;
	size_t n = 0;
	int sys;

	if (answer && ask(e, &req, 1, NULL) == 0) {
		while (len < NAMES_MAX && got > 0 &&
		       inv_net_read_some(e->fd, answer + len, NAMES_MAX - len,
					 &got, e->p, &sys) == 0)
			len += got;
		if (len > 4)
			n = list_names(answer + 4, len - 4, text, size);
	}
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
	free(answer);
	return n;
}

static int not_registered(struct epmd *e, struct inv_err *err)
{
	char names[200] = "";
	size_t n = known_names(e, names, sizeof(names));

	if (n == 0)
		return inv_err_set(err, INV_ENONODE,
				   "there is no node '%s' on %s, nor any other",
				   e->node->alive, e->node->host);
	return inv_err_set(err, INV_ENONODE,
			   "there is no node '%s' on %s; its epmd knows: %s",
			   e->node->alive, e->node->host, names);
}

/* INV_END: it has no such node. */
static int ask_port(struct epmd *e, uint16_t *port, struct inv_err *err)
{
	uint8_t req[1 + INV_NODE_NAME_MAX];
	uint8_t head[4];
	size_t len = strlen(e->node->alive);
	int sys = 0;
	int r;

	req[0] = PORT_PLEASE2_REQ;
	memcpy(req + 1, e->node->alive, len);
	r = ask(e, req, 1 + len, err);
	if (r < 0)
		return r;
	r = inv_net_read(e->fd, head, 2, e->p, &sys);
	if (r == 0 && head[0] != PORT2_RESP)
		r = INV_EFORMAT;
	if (r == 0 && head[1] != 0)
		return INV_END;
	if (r == 0)
		r = inv_net_read(e->fd, head + 2, 2, e->p, &sys);
	if (r < 0)
		return failed(e, r, sys, err);
	*port = (uint16_t)(head[2] << 8 | head[3]);
	return 0;
}

static struct in_addr own_address(int fd)
{
	struct sockaddr_in sin = { 0 };
	socklen_t len = sizeof(sin);

	// NOLINTNEXTLINE(clang-diagnostic-cast-align)
	if (getsockname(fd, (struct sockaddr *)&sin, &len) < 0)
		sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sin.sin_addr;
}

/* A node of this machine is found without a name service, too. */
static int addresses(struct epmd *e, struct inv_err *err)
{
	int r = inv_net_resolve(e->node->host, e->addrs, ADDRS_MAX - 1,
				&e->n_addrs, e->p, err);

	if (r != INV_ELOST && e->node->any_host) {
		if (r < 0)
			e->n_addrs = 0;
		e->addrs[e->n_addrs++].s_addr = htonl(INADDR_LOOPBACK);
		r = 0;
	}
	return r;
}

int inv_epmd_find(const struct inv_node_name *node, struct inv_epmd_place *out,
		  const struct inv_patience *p, struct inv_err *err)
{
	struct epmd e = { .node = node, .p = p, .fd = -1 };
	int r = epmd_port(&e.port, err);

	if (r == 0)
		r = addresses(&e, err);
	if (r < 0)
		return r;
	r = ask_port(&e, &out->port, err);
	if (e.fd >= 0) {
		out->addr = e.addrs[e.at];
		out->ours = own_address(e.fd);
		close(e.fd);
		e.fd = -1;
	}
	return r == INV_END ? not_registered(&e, err) : r;
}
