/* SPDX-License-Identifier: Apache-2.0 */
#include "node/epmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "node/etf_text.h"

#define NAMES_MAX 16384 /* how many bytes of an answer are read at most */

/* Message types of the epmd protocol. */
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

	*port = INV_EPMD_PORT;
	if (!s || !s[0])
		return 0;
	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || *end || v < 1 || v > 65535)
		return inv_err_set(err, INV_EINVAL,
				   "ERL_EPMD_PORT is '%s', which is not a port "
				   "number",
				   s);
	*port = (uint16_t)v;
	return 0;
}

/* A conversation with epmd. */
struct epmd {
	const char *alive;  /* the name to ask for */
	const char *option; /* for messages: the option to which the user can
			       append a port */
	const struct inv_patience *p;
	struct inv_endpoint *to;
	uint16_t port; /* epmd's own port */
	struct inv_wire wire;
};

static int failed(const struct epmd *e, int r, int sys, struct inv_err *err)
{
	const char *host = e->to->host;

	if (r == INV_ELOST)
		return inv_err_set(err, r, "cancelled");
	if (r == INV_EIO && sys == ECONNREFUSED)
		return inv_err_set(
			err, INV_EUNREACHABLE,
			"no epmd on %s (port %u): no Erlang node runs there, "
			"or its epmd listens elsewhere (set ERL_EPMD_PORT), or "
			"it runs without one (then give the node's own port: "
			"%s:PORT)",
			host, e->port, e->option);
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
			   "the program that listens on %s port %u is not epmd "
			   "(if epmd has another port, set ERL_EPMD_PORT)",
			   host, e->port);
}

/*
 * Connects to the first address that accepts the connection, and moves this
 * address to the front of the list. Later requests go only to this address. In
 * most cases the node listens at this address, too.
 */
static int connect_epmd(struct epmd *e, struct inv_err *err)
{
	struct inv_addr *addrs = e->to->addrs;
	struct inv_addr first;
	size_t at;
	int sys = 0;
	int r = inv_wire_open_any(&e->wire, addrs, e->to->n_addrs, &at, e->port,
				  e->p, &sys);

	if (r < 0)
		return failed(e, r, sys, err);
	first = addrs[at];
	memmove(addrs + 1, addrs, at * sizeof(*addrs));
	addrs[0] = first;
	return 0;
}

static int ask(struct epmd *e, const void *req, size_t len, struct inv_err *err)
{
	uint8_t head[2] = { (uint8_t)(len >> 8), (uint8_t)len };
	int sys = 0;
	int r = connect_epmd(e, err);

	if (r < 0)
		return r;
	r = inv_wire_write(&e->wire, head, sizeof(head), e->p, &sys);
	if (r == 0)
		r = inv_wire_write(&e->wire, req, len, e->p, &sys);
	return r < 0 ? failed(e, r, sys, err) : 0;
}

/* The first bytes of an answer to NAMES_REQ. */
struct names {
	char bytes[NAMES_MAX];
	size_t len;
	size_t at; /* the bytes before this offset were parsed */
};

static int ask_names(struct epmd *e, struct names *n, struct inv_err *err)
{
	static const uint8_t req = NAMES_REQ;
	size_t got = 1;
	int sys = 0;
	int r = ask(e, &req, 1, err);

	if (r < 0)
		return r;
	/* The answer begins with epmd's own port in four bytes. */
	n->len = 0;
	n->at = 4;
	while (r == 0 && got > 0 && n->len < sizeof(n->bytes)) {
		r = inv_wire_read_some(&e->wire, n->bytes + n->len,
				       sizeof(n->bytes) - n->len, &got, e->p,
				       &sys);
		n->len += r == 0 ? got : 0;
	}
	if (r == 0 && (n->len < 4 || n->bytes[0] || n->bytes[1]))
		r = INV_EFORMAT;
	return r < 0 ? failed(e, r, sys, err) : 0;
}

/*
 * Finds the next line "name x at port n"; sets *name and *len to x, and *port
 * to n. Skips other lines. Returns false if there are no more such lines.
 */
static bool next_name(struct names *n, const char **name, size_t *len,
		      uint16_t *port)
{
	static const char begins[] = "name ";
	static const char then[] = " at port ";
	const char *end = n->bytes + n->len;

	while (n->at < n->len) {
		const char *p = n->bytes + n->at;
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		const char *at;
		unsigned v = 0;

		if (!eol)
			return false;
		n->at += (size_t)(eol - p) + 1;
		at = memmem(p, (size_t)(eol - p), then, sizeof(then) - 1);
		if (!at || memcmp(p, begins, sizeof(begins) - 1) != 0)
			continue;
		*name = p + sizeof(begins) - 1;
		if (*name >= at)
			continue;
		*len = (size_t)(at - *name);
		for (at += sizeof(then) - 1;
		     at < eol && *at >= '0' && *at <= '9' && v <= 65535; at++)
			v = v * 10 + (unsigned)(*at - '0');
		*port = (uint16_t)v;
		if (at == eol && v > 0 && v <= 65535)
			return true;
	}
	return false;
}

/* Sets `text' to the names that epmd knows, or to "" if it knows none. */
static void known_names(struct epmd *e, char *text, size_t size)
{
	struct inv_buf all = { 0 };
	struct names names;
	const char *name;
	uint16_t port;
	size_t len;

	names.len = 0;
	if (ask_names(e, &names, NULL) == 0)
		while (next_name(&names, &name, &len, &port)) {
			if (all.len)
				inv_buf_puts(&all, ", ");
			inv_buf_put(&all, name, len);
		}
	inv_wire_close(&e->wire);
	inv_plain_cut(text, size, all.data, all.len);
	inv_buf_release(&all);
}

static int not_registered(struct epmd *e, struct inv_err *err)
{
	char names[200];

	known_names(e, names, sizeof(names));
	if (!names[0])
		return inv_err_set(err, INV_ENONODE,
				   "there is no node '%s' on %s, nor any other",
				   e->alive, e->to->host);
	return inv_err_set(err, INV_ENONODE,
			   "there is no node '%s' on %s; its epmd knows: %s",
			   e->alive, e->to->host, names);
}

/* Asks epmd for the node's port.  Returns INV_END if epmd has no such node. */
static int ask_port(struct epmd *e, uint16_t *port, struct inv_err *err)
{
	uint8_t req[1 + INV_NODE_NAME_MAX];
	uint8_t head[4];
	size_t len = strlen(e->alive);
	int sys = 0;
	int r;

	req[0] = PORT_PLEASE2_REQ;
	memcpy(req + 1, e->alive, len);
	r = ask(e, req, 1 + len, err);
	if (r < 0)
		return r;
	r = inv_wire_read(&e->wire, head, 2, e->p, &sys);
	if (r == 0 && head[0] != PORT2_RESP)
		r = INV_EFORMAT;
	if (r == 0 && head[1] != 0)
		return INV_END;
	if (r == 0)
		r = inv_wire_read(&e->wire, head + 2, 2, e->p, &sys);
	if (r < 0)
		return failed(e, r, sys, err);
	*port = (uint16_t)(head[2] << 8 | head[3]);
	return 0;
}

int inv_epmd_ask(const struct inv_node_name *node, struct inv_endpoint *at,
		 const struct inv_patience *p, struct inv_err *err)
{
	char option[INV_NODE_NAME_MAX + 8];
	struct epmd e = { .alive = node->alive,
			  .option = option,
			  .to = at,
			  .p = p,
			  .wire.fd = -1 };
	int r = epmd_port(&e.port, err);

	if (r < 0)
		return r;
	snprintf(option, sizeof(option), "-n %s", node->full);
	r = ask_port(&e, &at->port, err);
	inv_wire_close(&e.wire);
	return r == INV_END ? not_registered(&e, err) : r;
}

int inv_epmd_names(struct inv_endpoint *at, const char *option,
		   void (*each)(void *arg, const char *name, size_t len,
				uint16_t port),
		   void *arg, const struct inv_patience *p, struct inv_err *err)
{
	struct epmd e = { .option = option, .to = at, .p = p, .wire.fd = -1 };
	struct names names;
	const char *name;
	uint16_t port;
	size_t len;
	int r = epmd_port(&e.port, err);

	if (r == 0)
		r = ask_names(&e, &names, err);
	inv_wire_close(&e.wire);
	while (r == 0 && next_name(&names, &name, &len, &port))
		each(arg, name, len, port);
	return r;
}
