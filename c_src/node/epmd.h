/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_EPMD_H
#define INV_NODE_EPMD_H

#include "base/err.h"
#include "node/endpoint.h"
#include "node/name.h"
#include "node/net.h"

/*
 * epmd's port, unless the environment variable ERL_EPMD_PORT sets another port.
 */
#define INV_EPMD_PORT 4369

/*
 * Asks epmd (the Erlang port mapper) at the endpoint's addresses for the node's
 * port. Sets the endpoint's port, and moves the address that accepted the
 * connection to the front of the endpoint's addresses. Returns 0, INV_ENONODE
 * (epmd has no such node), INV_EUNREACHABLE (no epmd, or epmd does not answer;
 * the message has the details), INV_EINVAL (ERL_EPMD_PORT is invalid),
 * INV_ELOST (cancelled).
 */
int inv_epmd_ask(const struct inv_node_name *node, struct inv_endpoint *at,
		 const struct inv_patience *p, struct inv_err *err);

/*
 * Asks epmd at the endpoint's addresses for all its nodes, and calls `each' for
 * every name and port in the answer. At most 16 KiB of the answer are read. The
 * names are not checked: they have the bytes that epmd sent. `option' is the
 * name of an option; error messages say that the user can append a port to its
 * value. Return codes are those of inv_epmd_ask, without INV_ENONODE.
 */
int inv_epmd_names(struct inv_endpoint *at, const char *option,
		   void (*each)(void *arg, const char *name, size_t len,
				uint16_t port),
		   void *arg, const struct inv_patience *p,
		   struct inv_err *err);

#endif
