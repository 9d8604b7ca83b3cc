/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_HANDSHAKE_H
#define INV_NODE_HANDSHAKE_H

#include <ei.h>

#include "base/err.h"
#include "node/epmd.h"
#include "node/name.h"
#include "node/net.h"

/*
 * Connects to a node and proves that we know the cookie, as a hidden node with
 * a name of our own: inviso-<four hex digits>@<our host>.  The names are few, so
 * that the atoms that are left on nodes are, and are tried again when somebody
 * has one already.
 */
struct inv_handshake {
	int fd;			   /* non-blocking; the caller's */
	erlang_pid self;	   /* our pid there */
	struct inv_node_name peer; /* as the node calls itself */
};

/*
 * INV_EUNREACHABLE (nobody there, TLS, another name than the one asked for),
 * INV_EREFUSED (cookie, or the node says no), INV_ELOST (cancelled).
 */
int inv_handshake(const struct inv_node_name *node,
		  const struct inv_epmd_place *at, const char *cookie,
		  const struct inv_patience *p, struct inv_handshake *out,
		  struct inv_err *err);

#endif
