/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_NODE_STATUS_H
#define INV_NODE_NODE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/gather.h"
#include "node/status.h"

/* The state of a node, as inviso_status:node() returns it in a map. Keys that
 * the command does not know are ignored. */
struct inv_node_status {
	char otp[96]; /* "25 (erts 13.1.5)" */
	int64_t os_pid;
	struct inv_status *sessions;
	size_t n_sessions;
	struct inv_texts clients; /* owners of all attached clients */
	struct inv_texts others;  /* describes what other tools trace */
};

void inv_node_status_ask(struct inv_ask *ask, struct inv_conn *c, int ms);
/*
 * Decodes the answer into `out', which must be all zero.  The caller releases
 * `out', even if the result is an error.
 */
int inv_node_status_got(const struct inv_ask *ask, struct inv_node_status *out,
			struct inv_err *err);
void inv_node_status_release(struct inv_node_status *s);

#endif
