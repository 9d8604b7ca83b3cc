/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_EPMD_H
#define INV_NODE_EPMD_H

#include <netinet/in.h>
#include <stdint.h>

#include "base/err.h"
#include "node/name.h"
#include "node/net.h"

/*
 * Asks the host's epmd, the Erlang port mapper, where a node listens.  Its
 * port is 4369, or ERL_EPMD_PORT of the environment.
 */
struct inv_epmd_place {
	struct in_addr addr; /* of the node */
	struct in_addr ours; /* this machine's, as that host sees it */
	uint16_t port;
};

/*
 * INV_ENONODE: epmd says that the node is not registered.  INV_EUNREACHABLE: no
 * such host, no epmd, or it does not answer; the words say which.  INV_EINVAL:
 * ERL_EPMD_PORT makes no sense.  INV_ELOST: cancelled.
 */
int inv_epmd_find(const struct inv_node_name *node, struct inv_epmd_place *out,
		  const struct inv_patience *p, struct inv_err *err);

#endif
