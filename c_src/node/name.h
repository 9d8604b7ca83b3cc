/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_NAME_H
#define INV_NODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Names of nodes, as users write them: `name@host', or `name' for a node on
 * this machine.
 *
 * If the host has a dot or is an IP address, the name is long, otherwise short.
 * Nodes with long names and nodes with short names cannot connect to each
 * other.
 */
#define INV_NODE_NAME_MAX 255 /* bytes of UTF-8; a node's name is an atom */

struct inv_node_name {
	char full[INV_NODE_NAME_MAX + 1];  /* name@host */
	char alive[INV_NODE_NAME_MAX + 1]; /* the part before the @ */
	char host[INV_NODE_NAME_MAX + 1];  /* the part after the @ */
	bool is_long;
	bool any_host; /* the user gave no host, so the node can also be a node
			  on this machine with a long name */
	uint16_t port; /* the node's port; 0: not known, so epmd is asked */
	/*
	 * The name in the option --dns by which the node was found; "": not
	 * found by --dns. If it is set, `host' is an address of this name, and
	 * the node's own name can have another host. The node's certificate
	 * must be for this name. If `alive' is "", the part before the @ is not
	 * known yet.
	 */
	char service[INV_NODE_NAME_MAX + 1];
};

/* The host and port at which a node can be reached, if the user gave them. */
struct inv_node_at {
	char host[INV_NODE_NAME_MAX + 1];
	uint16_t port;
};

/*
 * Parses the `len' bytes at `text'. Returns 0, INV_EINVAL, or INV_EIO if the
 * name has no host and this machine's name is unknown.
 */
int inv_node_name_parse(struct inv_node_name *out, const char *text, size_t len,
			struct inv_err *err);

/*
 * Parses what a user writes for a node: a name, or `name@host:port' if the node
 * has no epmd.  An IPv6 address may be in brackets, and must be in brackets if
 * a port follows it: `name@[::1]:port'.  Return codes are those of
 * inv_node_name_parse.
 */
int inv_node_target_parse(struct inv_node_name *out, const char *text,
			  size_t len, struct inv_err *err);

/* Parses `host:port'; an IPv6 address is in brackets.  Returns 0 or
 * INV_EINVAL. */
int inv_node_at_parse(struct inv_node_at *out, const char *text,
		      struct inv_err *err);

/*
 * Sets `host' to the host part of node names on this machine; short names have
 * only the part before the first dot. Returns INV_EIO if the machine has no
 * name.
 */
int inv_node_own_host(char *host, size_t size, bool is_long,
		      struct inv_err *err);

/* A set of names.  A struct of zeros is the empty set. */
struct inv_node_names {
	struct inv_node_name *names;
	size_t n;
};

/*
 * Adds the nodes in an option's value, such as `a,b:9000', to the set.  Returns
 * 0, INV_EINVAL (also for a node with two different ports), INV_EIO or
 * INV_ENOMEM.
 */
int inv_node_names_add(struct inv_node_names *ns, const char *text,
		       struct inv_err *err);
/* Adds the name of a node that another node has reported. */
int inv_node_names_add_peer(struct inv_node_names *ns, const char *name,
			    struct inv_err *err);
bool inv_node_names_have(const struct inv_node_names *ns, const char *full);
void inv_node_names_release(struct inv_node_names *ns);

#endif
