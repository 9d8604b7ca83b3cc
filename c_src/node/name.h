/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_NAME_H
#define INV_NODE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Names of nodes, as users write them: `name@host', or `name' for a node on
 * this machine.
 *
 * A host with a dot, or an IP address, makes a long name; anything else a
 * short one.  A node is of one kind and refuses the other.
 */
#define INV_NODE_NAME_MAX 255 /* bytes, UTF-8: a node's name is an atom */

struct inv_node_name {
	char full[INV_NODE_NAME_MAX + 1];  /* name@host */
	char alive[INV_NODE_NAME_MAX + 1]; /* what is before the @ */
	char host[INV_NODE_NAME_MAX + 1];  /* and after it */
	bool is_long;
	bool any_host; /* no host was given: the node may be on this machine
			  under a long name as well */
};

/* Of the len bytes at text.  INV_EINVAL; INV_EIO when this machine's own name
 * is asked for and not known. */
int inv_node_name_parse(struct inv_node_name *out, const char *text, size_t len,
			struct inv_err *err);

/*
 * The host part for a node of this machine; of a short name it ends before the
 * first dot.  INV_EIO when the machine has no name.
 */
int inv_node_own_host(char *host, size_t size, bool is_long,
		      struct inv_err *err);

/*
 * Several of them.  All zero is none.
 */
struct inv_node_names {
	struct inv_node_name *names;
	size_t n;
};

/* Adds those of an option's text, `a,b'; one that is there already is not
 * added again.  INV_EINVAL, INV_EIO, INV_ENOMEM. */
int inv_node_names_add(struct inv_node_names *ns, const char *text,
		       struct inv_err *err);
void inv_node_names_release(struct inv_node_names *ns);

#endif
