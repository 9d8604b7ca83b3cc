/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_NODE_OPTS_H
#define INV_CLI_NODE_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/tls_opts.h"
#include "node/dns.h"
#include "node/name.h"

/*
 * The options of commands that connect to nodes, as an argp child. Its input is
 * a struct inv_node_opts, which must be all zero before.
 */
struct inv_node_opts {
	struct inv_node_names names;
	bool from_release; /* the node's name comes from RELEASE_NODE */
	bool skip;	   /* --skip-unreachable */
	bool all; /* -n all: also the nodes to which the named nodes are
		     connected */
	struct inv_dns *dns; /* --dns */
	size_t n_dns;
	bool has_at;
	struct inv_node_at at; /* --at: where the only node can be reached */
	const char *cookie;    /* -c; points into argv; NULL: not given */
	const char *cookie_file;
	struct inv_tls_args tls;
	uint64_t timeout_ms; /* for connecting, and for each answer */
};

extern const struct argp inv_node_argp;
/* The argp children of a command that has no other argp children. */
extern const struct argp_child inv_node_children[];

/* Appends the option with which the user named a node, as in " -n a@h:9000".
 * Appends nothing for a node of --dns, because inv_node_opts_put_rest appends
 * that option. */
void inv_node_opts_put(const struct inv_node_name *name, struct inv_buf *out);

/* Appends the options that apply to all nodes: --dns, --at and those of TLS. */
void inv_node_opts_put_rest(const struct inv_node_opts *o, struct inv_buf *out);

void inv_node_opts_release(struct inv_node_opts *o);

/* Returns true if -n or --dns is given. */
bool inv_node_opts_given(const struct inv_node_opts *o);

/*
 * If no node is given, takes the nodes of the environment variable INVISO_NODE.
 * If INVISO_NODE names no node, takes the node of RELEASE_NODE. Then checks
 * that there is at least one node, and with --at exactly one. If not, ends the
 * program with a usage error.
 */
void inv_node_opts_check(struct inv_node_opts *o, struct argp_state *state);

/* Checks the same, but takes no nodes of the environment. */
void inv_node_opts_check_given(struct inv_node_opts *o,
			       struct argp_state *state);

#endif
