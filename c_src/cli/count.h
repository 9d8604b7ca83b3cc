/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_COUNT_H
#define INV_CLI_COUNT_H

#include <stddef.h>

#include "base/buf.h"
#include "cli/members.h"

/*
 * What the actions count and time have counted, of all nodes: taken while the
 * sessions are there, printed later.  All zero is nothing.
 */
struct inv_count {
	struct inv_count_node {
		char node[INV_NODE_NAME_MAX + 1];
		struct inv_counters counters;
	} * v;
	size_t n;
};

/* Says itself what goes wrong. */
void inv_count_take(struct inv_count *c, struct inv_members *ms);
void inv_count_release(struct inv_count *c);

/* A table; nothing when there is nothing. */
void inv_count_put_text(const struct inv_count *c, struct inv_buf *b);
/* [{"node":…,"mfa":…,"calls":…,"ns":…},…] */
void inv_count_put_json(const struct inv_count *c, struct inv_buf *b);

#endif
