/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_ENDPOINT_H
#define INV_NODE_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/name.h"
#include "node/net.h"

#define INV_ADDRS_MAX 10

/* Where a node listens. */
struct inv_endpoint {
	char host[INV_NODE_NAME_MAX + 1]; /* the host, as the user wrote it */
	/* the host name that the node's certificate must have */
	char tls_host[INV_NODE_NAME_MAX + 1];
	struct inv_addr addrs[INV_ADDRS_MAX];
	size_t n_addrs; /* the addresses are tried in this order */
	uint16_t port;
	bool direct; /* the user gave the port, so epmd is not asked */
};

/*
 * Finds where the node listens. If `at' is not NULL, the node listens at `at'.
 * Otherwise it listens at the port in `node' or, if this port is 0, at the port
 * that epmd reports. Returns the codes of inv_epmd_ask, and INV_EUNREACHABLE if
 * there is no such host.
 */
int inv_endpoint_find(const struct inv_node_name *node,
		      const struct inv_node_at *at, struct inv_endpoint *out,
		      const struct inv_patience *p, struct inv_err *err);

#endif
