/* SPDX-License-Identifier: Apache-2.0 */
#include "node/endpoint.h"

#include <stdio.h>
#include <string.h>

#include "node/epmd.h"

#define LOOPBACKS 2

/*
 * Finds the host's addresses. If the node is on this machine, adds the
 * addresses of the loopback interface, so that no name service is needed to
 * find the node.
 */
static int addresses(struct inv_endpoint *e, bool this_machine,
		     const struct inv_patience *p, struct inv_err *err)
{
	int r = inv_net_resolve(e->host, e->addrs, INV_ADDRS_MAX - LOOPBACKS,
				&e->n_addrs, p, err);

	if (r != INV_ELOST && this_machine) {
		if (r < 0)
			e->n_addrs = 0;
		e->addrs[e->n_addrs++] = inv_addr_loopback(AF_INET);
		e->addrs[e->n_addrs++] = inv_addr_loopback(AF_INET6);
		r = 0;
	}
	return r;
}

/* Appends advice for the user if the host is not known on this machine. */
static void add_hint(struct inv_err *err)
{
	size_t n = err ? strlen(err->text) : 0;

	if (n)
		snprintf(err->text + n, sizeof(err->text) - n,
			 " (--at HOST:PORT says where the node can be "
			 "reached)");
}

int inv_endpoint_find(const struct inv_node_name *node,
		      const struct inv_node_at *at, struct inv_endpoint *out,
		      const struct inv_patience *p, struct inv_err *err)
{
	int r;

	snprintf(out->host, sizeof(out->host), "%s",
		 at ? at->host : node->host);
	snprintf(out->tls_host, sizeof(out->tls_host), "%s",
		 node->service[0] ? node->service : node->host);
	out->port = at ? at->port : node->port;
	out->direct = out->port != 0;
	r = addresses(out, !at && node->any_host, p, err);
	if (r == INV_EUNREACHABLE && !at)
		add_hint(err);
	return r < 0 || out->direct ? r : inv_epmd_ask(node, out, p, err);
}
