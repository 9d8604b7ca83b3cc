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
 * A connection to an Erlang node. The command takes part in it as a hidden
 * node.
 *
 * Each connection has a thread, and only that thread uses the socket. The
 * thread connects, answers the node's ticks even while other threads are busy,
 * sends queued requests, and puts items into the inbox. Any thread of the
 * program may call the functions below. Of these functions, only inv_conn_close
 * waits for the node, for a bounded time.
 *
 * The states of a connection; in brackets, the item that the inbox gets
 * (node/inbox.h):
 *
 * open ──► connecting ──► up (CONNECTED) ──► lost (LOST) ──► close
 *                └───────────── (LOST) ────────────┘
 *
 * To connect to several nodes at the same time, open all connections before
 * taking items from the inbox.
 */
struct inv_conn_opts {
	const char *cookie;
	/* Where the node can be reached; NULL: on the host in its name. */
	const struct inv_node_at *at;
	/* Borrowed until inv_conn_close; NULL: the connection has no TLS. */
	struct inv_tls *tls;
	/* If it is known that the node cannot be reached: the reason. The
	 * thread then does not connect, and the item LOST has this error.
	 * Otherwise NULL. */
	const struct inv_err *unreachable;
	/* In the next four fields, which are in milliseconds or bytes, 0 means
	 * the default. */
	int connect_ms;	   /* time limit for connecting, in total; default
			      5000 */
	int write_ms;	   /* if the node reads nothing for this time, the
			      connection is lost; default 15000 */
	size_t answer_max; /* if the node sends a longer message, the
			      connection is lost; default 16 MiB */
	size_t queue_max;  /* at most this many bytes may wait to be sent;
			      default 64 MiB */
};

/*
 * Starts a connection. Copies `opts' and `to'; borrows the inbox `in' until
 * inv_conn_close. Later the inbox gets the item CONNECTED or LOST. Returns NULL
 * if there is no memory, descriptor or thread. Also returns NULL if an argument
 * is invalid; err's code is then INV_EINVAL.
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
 * Sends the queued requests, if the node reads them within a second. Then
 * disconnects, ends the thread, drops the connection's items from the inbox,
 * and frees the connection.  NULL is allowed.
 */
void inv_conn_close(struct inv_conn *c);

/*
 * Returns the node's name. Before the item CONNECTED, that is the name that the
 * user gave; afterwards, it is the node's own name with the port that the user
 * gave. The pointer is valid until inv_conn_close.
 */
const struct inv_node_name *inv_conn_name(struct inv_conn *c);

/* Returns the address in digits at which the node was reached. Call it only
 * after the item CONNECTED. */
const char *inv_conn_address(const struct inv_conn *c);

/*
 * Returns the command's pid on this connection, which is the `client' in
 * requests to the node.  Call it only after the item CONNECTED.  The pid's node
 * name is "inviso-…@host".
 */
const erlang_pid *inv_conn_self(const struct inv_conn *c);

/*
 * `brought' is true if inviso is not installed on the node, and the command has
 * sent its code there. The modules of that code have other names than installed
 * modules; inv_ask_code uses the right names.
 */
void inv_conn_set_brought(struct inv_conn *c, bool brought);
bool inv_conn_brought(const struct inv_conn *c);

/* These set and return a pointer for the caller. The connection does not use
 * the pointer, which is NULL at first. */
void inv_conn_set_user(struct inv_conn *c, void *user);
void *inv_conn_user(struct inv_conn *c);

#endif
