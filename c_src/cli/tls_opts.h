/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_TLS_OPTS_H
#define INV_CLI_TLS_OPTS_H

#include <argp.h>
#include <stdbool.h>

#include "base/buf.h"
#include "node/name.h"
#include "node/tls.h"

/* The options with which commands connect to nodes that use TLS distribution.
 * Pointers point into argv. */
struct inv_tls_args {
	const char *optfile;
	const char *cert;
	const char *key;
	const char *ca;
	bool no_verify;
	struct inv_node_names plain; /* nodes without TLS */
};

/* The argp of these options. Its input is a struct inv_tls_args. */
extern const struct argp inv_tls_argp;

/* Returns true if an option says that nodes use TLS. */
bool inv_tls_args_given(const struct inv_tls_args *a);
/* Ends the program with a usage error if the options contradict each other. */
void inv_tls_args_check(const struct inv_tls_args *a, struct argp_state *state);
/*
 * Reads the files that the options name. Sets `*warning' to a text if the
 * certificates of nodes are not checked although the user did not ask for this;
 * otherwise to NULL. Returns NULL with err on failure.
 */
struct inv_tls *inv_tls_args_open(const struct inv_tls_args *a,
				  const char **warning, struct inv_err *err);
/* Appends the options to the text of a command that connects to the same
 * nodes. */
void inv_tls_args_put(const struct inv_tls_args *a, struct inv_buf *out);
void inv_tls_args_release(struct inv_tls_args *a);

#endif
