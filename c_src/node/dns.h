/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_DNS_H
#define INV_NODE_DNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/name.h"
#include "node/net.h"

#define INV_DNS_MAX 256 /* maximum number of addresses, and of nodes */

/* What a user writes after --dns: [APP@]NAME[:PORT]. */
struct inv_dns {
	/* The part before the @ that the nodes' names must have; "": the user
	 * wants all nodes. */
	char alive[INV_NODE_NAME_MAX + 1];
	char name[INV_NODE_NAME_MAX + 1]; /* the name to look up */
	uint16_t port; /* the port of each node; 0: epmd is asked for it */
};

/* Parses the text.  Returns 0 or INV_EINVAL. */
int inv_dns_parse(struct inv_dns *out, const char *text, struct inv_err *err);

/* A node at an address of the DNS name, or an address that has no node. */
struct inv_dns_node {
	/* If the address has no node, only `full' and `service' are set. */
	struct inv_node_name name;
	struct inv_err err; /* why the address has no node; code 0: it has a
			       node */
};

/* A struct of zeros is empty. */
struct inv_dns_nodes {
	struct inv_dns_node *v;
	size_t n;
};

/*
 * Looks up the name, and asks the epmd at each of its addresses for nodes. All
 * epmds are asked at the same time. If the user gave a port, epmd is not asked,
 * and each address has one node. If the name has IPv4 addresses, its IPv6
 * addresses are not used.
 *
 * Adds to `*out' each node, and each address without a node, with its error.
 * If the name has no address, adds the name itself, with INV_EUNREACHABLE. So
 * after success `*out' is never empty. Returns 0, INV_ETOOBIG (more than
 * INV_DNS_MAX), INV_ELOST (cancelled) or INV_ENOMEM.
 */
int inv_dns_find(const struct inv_dns *d, const struct inv_patience *p,
		 struct inv_dns_nodes *out, struct inv_err *err);
void inv_dns_nodes_release(struct inv_dns_nodes *ns);

#endif
