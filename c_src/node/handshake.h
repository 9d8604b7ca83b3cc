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
 * a name of our own: inviso-<hex digits>@<our host>.  Each name leaves an atom on
 * the node, so there are 64 of them, and more only while many are in use.
 */
struct inv_handshake {
	int fd;			   /* non-blocking; the caller's */
	erlang_pid self;	   /* our pid there */
	struct inv_node_name peer; /* as the node calls itself */
};

/*
 * INV_ENONODE (it ended meanwhile, and epmd says so), INV_EUNREACHABLE (nothing
 * there, TLS, another name than the one asked for), INV_EREFUSED (cookie, or the
 * node says no), INV_ELOST (cancelled).
 */
int inv_handshake(const struct inv_node_name *node,
		  const struct inv_epmd_place *at, const char *cookie,
		  const struct inv_patience *p, struct inv_handshake *out,
		  struct inv_err *err);

#endif
