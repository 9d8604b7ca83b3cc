/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_CONN_H
#define INV_NODE_CONN_H

#include <ei.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/inbox.h"
#include "node/name.h"

/*
 * A connection to an Erlang node, as a hidden node.
 *
 * It has a thread, which alone touches the socket: it connects, answers the
 * node's ticks whatever the rest of the program does, sends what is queued,
 * and puts what comes into the inbox.  All functions here may be called from
 * any thread; none waits for the node but inv_conn_wait, inv_conn_close (for
 * a bounded time) and those of node/call.h that say so.
 *
 *	open ──► connecting ──► up (CONNECTED) ──► lost (LOST) ──► close
 *	              └───────────── LOST ──────────────┘
 *
 * To connect to several nodes at once, open them all, then take the inbox's
 * items.
 */
struct inv_conn_opts {
	const char *cookie;
	int connect_ms;	   /* to connect, all in all; 0: 5000 */
	int write_ms;	   /* a node that takes nothing for so long is lost;
			      0: 15000 */
	size_t answer_max; /* bytes of a message; a longer one makes the node
			      lost; 0: 16 MiB */
	size_t queue_max;  /* bytes waiting to be sent; 0: 64 MiB */
};

/*
 * Starts a connection; opts and to are copied, in is borrowed until the
 * close.  What becomes of it comes as an item, CONNECTED or LOST.  NULL only
 * for want of memory, descriptors or threads, or INV_EINVAL.
 *
 * Codes of LOST: INV_ENONODE (epmd says that there is none of that name),
 * INV_EUNREACHABLE (no such host, no epmd, no answer, TLS, IPv6 only: there may
 * be a node), INV_EREFUSED (cookie, or the handshake), INV_ELOST
 * (gone while it was up), INV_ETIME (silent, or does not take what we send),
 * INV_ETOOBIG, INV_EDAMAGED (bytes that make no sense).
 */
struct inv_conn *inv_conn_open(const struct inv_node_name *to,
			       const struct inv_conn_opts *opts,
			       struct inv_inbox *in, struct inv_err *err);

/*
 * Waits until it is up; takes the CONNECTED item out of the inbox.  When it
 * is lost, its code, and LOST stays in the inbox.  Ends by itself: there is a
 * time limit on connecting.
 */
int inv_conn_wait(struct inv_conn *c, struct inv_err *err);

/*
 * Sends what is queued if the node takes it within a second, disconnects, ends
 * the thread, drops its items from the inbox, frees.  NULL is let be.
 */
void inv_conn_close(struct inv_conn *c);

/* Of the node: as the user wrote it until it is up, then as it calls itself;
 * good until the close. */
const struct inv_node_name *inv_conn_name(struct inv_conn *c);

/* Our pid on this connection, good when it is up: what a node is told as
 * `client'.  Its node name is ours there, "inviso-…@host". */
const erlang_pid *inv_conn_self(const struct inv_conn *c);

/* For the user's own: borrowed, NULL at first; not looked at. */
void inv_conn_set_user(struct inv_conn *c, void *user);
void *inv_conn_user(struct inv_conn *c);

#endif
