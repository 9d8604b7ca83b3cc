/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_NODE_OPTS_H
#define INV_CLI_NODE_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "node/name.h"

/*
 * The options of commands that talk to nodes, as an argp child: its input is a
 * struct inv_node_opts, all zero before.
 */
struct inv_node_opts {
	struct inv_node_names names;
	bool all;	    /* and every node they are connected to */
	const char *cookie; /* -c, borrowed of argv, or NULL */
	const char *cookie_file;
	uint64_t timeout_ms; /* to connect, and for an answer */
};

extern const struct argp inv_node_argp;
/* It alone: the children of a command that has no others. */
extern const struct argp_child inv_node_children[];

void inv_node_opts_release(struct inv_node_opts *o);

/* Whether there is a node; ends the program, as argp does, when there is none
 * or -n all stands alone. */
void inv_node_opts_check(const struct inv_node_opts *o,
			 struct argp_state *state);

#endif
