/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_HANDSHAKE_H
#define INV_NODE_HANDSHAKE_H

#include <ei.h>

#include "base/err.h"
#include "node/endpoint.h"
#include "node/name.h"
#include "node/net.h"

/*
 * Connects to a node and authenticates with the cookie, as a hidden node with
 * the name inviso-<hex digits>@<own host>. The node never frees the atom of
 * such a name, so commands choose from 64 names. Only if many of these are in
 * use, commands choose from more names.
 */
struct inv_handshake {
	struct inv_wire wire;	   /* the connection; the caller owns it */
	erlang_pid self;	   /* the command's pid on this connection */
	struct inv_node_name peer; /* the node's own name */
};

/*
 * Returns 0 and sets `*out', or returns INV_ENONODE (epmd says that the node
 * has ended), INV_EUNREACHABLE (nothing listens, or the node uses TLS or has
 * another name), INV_EREFUSED (wrong cookie, or the node refuses), INV_ELOST
 * (cancelled). If tls is NULL, the connection has no TLS.
 */
int inv_handshake(const struct inv_node_name *node,
		  const struct inv_endpoint *at, const char *cookie,
		  struct inv_tls *tls, const struct inv_patience *p,
		  struct inv_handshake *out, struct inv_err *err);

#endif
