/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_COUNT_H
#define INV_CLI_COUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "cli/members.h"

/*
 * The results of the actions `count' and `time' on all nodes. They are read
 * before the sessions end, and printed later. All zero: no results.
 */
struct inv_count {
	struct inv_count_node {
		char node[INV_NODE_NAME_MAX + 1];
		struct inv_counters counters;
	} * v;
	size_t n;
};

/* Reads the counters of all sessions. Reports errors. */
void inv_count_take(struct inv_count *c, struct inv_members *ms);
void inv_count_release(struct inv_count *c);

/* Returns true if at least one function was counted, even if it was never
 * called. */
bool inv_count_any(const struct inv_count *c);

/* Appends a table. Appends nothing if there are no results. */
void inv_count_put_text(const struct inv_count *c, struct inv_buf *b);
/* Appends "counts":[{"node":…,"mfa":…,"calls":…,"ns":…},…]. */
void inv_count_put_json(const struct inv_count *c, struct inv_json *j);

#endif
