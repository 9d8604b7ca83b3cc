/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_CONN_H
#define INV_NODE_CONN_H

#include <ei.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/inbox.h"
#include "node/name.h"

struct inv_tls;

/*
 * A connection to an Erlang node, as a hidden node.
 *
 * Each connection has a thread, and only that thread uses the socket. The
 * thread connects, answers the node's ticks even while other threads are busy,
 * sends queued requests, and puts items into the inbox. Any thread may call the
 * functions below. Of these, only inv_conn_close waits for the node, for a
 * bounded time.
 *
 * open ──► connecting ──► up (CONNECTED) ──► lost (LOST) ──► close
 *                └───────────── LOST ──────────────┘
 *
 * To connect to several nodes at the same time, open all connections before
 * taking items from the inbox.
 */
struct inv_conn_opts {
	const char *cookie;
	/* where the node can be reached; NULL: on the host in its name */
	const struct inv_node_at *at;
	/* borrowed until inv_conn_close; NULL: without TLS */
	struct inv_tls *tls;
	/* if the node is already known to be unreachable: the error, which the
	 * item LOST then has; otherwise NULL */
	const struct inv_err *unreachable;
	int connect_ms;	   /* time limit for connecting, in total; 0: 5000 */
	int write_ms;	   /* if the node reads nothing for this time, the
			      connection is lost; 0: 15000 */
	size_t answer_max; /* maximum bytes of a received message; after a
			      longer one, the connection is lost; 0: 16 MiB */
	size_t queue_max;  /* maximum bytes waiting to be sent; 0: 64 MiB */
};

/*
 * Starts a connection. Copies `opts' and `to'; borrows the inbox `in' until
 * inv_conn_close. Later the inbox gets the item CONNECTED or LOST. Returns NULL
 * if there is no memory, descriptor or thread, or with INV_EINVAL if an
 * argument is invalid.
 *
 * The item LOST has one of these codes: INV_ENONODE (epmd has no node of that
 * name), INV_EUNREACHABLE (no such host, no epmd, no answer, or the node uses
 * TLS), INV_EREFUSED (wrong cookie, or the node refused the handshake),
 * INV_ELOST (the connection broke after CONNECTED), INV_ETIME (the node is
 * silent, or does not read), INV_ETOOBIG, INV_EDAMAGED (invalid bytes).
 */
struct inv_conn *inv_conn_open(const struct inv_node_name *to,
			       const struct inv_conn_opts *opts,
			       struct inv_inbox *in, struct inv_err *err);

/*
 * Sends the queue if the node reads it within a second, disconnects, ends the
 * thread, drops the connection's items from the inbox, and frees the
 * connection.  NULL is allowed.
 */
void inv_conn_close(struct inv_conn *c);

/*
 * Returns the node's name: before CONNECTED the name that the user gave, later
 * the node's own name with the port that the user gave. The pointer is valid
 * until inv_conn_close.
 */
const struct inv_node_name *inv_conn_name(struct inv_conn *c);

/* Returns the address in digits at which the node was reached. Valid once
 * connected. */
const char *inv_conn_address(const struct inv_conn *c);

/*
 * Returns the command's pid on this connection, which is the `client' in
 * requests to the node.  Valid once connected.  The pid's node name is
 * "inviso-…@host".
 */
const erlang_pid *inv_conn_self(const struct inv_conn *c);

/*
 * `brought' is true if inviso is not installed on the node and the command has
 * loaded code there. The names of loaded modules differ from those of installed
 * modules; inv_ask_code uses the right names.
 */
void inv_conn_set_brought(struct inv_conn *c, bool brought);
bool inv_conn_brought(const struct inv_conn *c);

/* Set and return a pointer that only the caller uses. It is NULL at first. */
void inv_conn_set_user(struct inv_conn *c, void *user);
void *inv_conn_user(struct inv_conn *c);

#endif
