/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_NODE_STATUS_H
#define INV_NODE_NODE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/gather.h"
#include "node/status.h"

/*
 * What inviso_status:node() says of a node; keys that are not known are passed
 * over.
 */
struct inv_node_status {
	char otp[96]; /* "25 (erts 13.1.5)" */
	int64_t os_pid;
	struct inv_status *sessions;
	size_t n_sessions;
	struct inv_texts clients; /* owners of all who are attached */
	struct inv_texts others;  /* tracing of others, in words */
};

void inv_node_status_ask(struct inv_ask *ask, struct inv_conn *c, int ms);
/* out is all zero, and to be released, error or not. */
int inv_node_status_got(const struct inv_ask *ask, struct inv_node_status *out,
			struct inv_err *err);
void inv_node_status_release(struct inv_node_status *s);

#endif
