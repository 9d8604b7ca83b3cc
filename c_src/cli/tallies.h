/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_TALLIES_H
#define INV_CLI_TALLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "flow/flow.h"
#include "log/live.h"
#include "log/merge.h"

/*
 * The counts in the logs of sessions that count (INV_NOTE_COUNT in abi/event.h),
 * for `count' and `merge'. A later count of the same key of a node replaces the
 * earlier one.
 */
struct inv_tally_key_of;

struct inv_tallies {
	bool by_node;	 /* a row for each node; otherwise nodes are added up.
			    Rows of processes always have a node */
	bool nodes_only; /* the rows are the nodes */
	/* private */
	struct inv_tally_key_of *keys; /* hash table */
	struct inv_cursor *cursor;
};

/* t must be all zero, except by_node and nodes_only. Returns 0 or INV_ENOMEM;
 * release it also then. */
int inv_tallies_init(struct inv_tallies *t);
void inv_tallies_release(struct inv_tallies *t);

/* Takes an item, after inv_flow_item. Ignores other items than counts. Returns 0
 * or INV_ENOMEM. */
int inv_tallies_item(struct inv_tallies *t, const struct inv_item *it);

/* Returns true if there are counts. */
bool inv_tallies_any(const struct inv_tallies *t);

/* Sums over all nodes, or of one node (NULL: all). */
struct inv_tallies_sum {
	uint64_t total;
	uint64_t others; /* of keys beyond the bound */
	uint64_t keyed;	 /* of all keys; less than total - others if counts
			    are missing */
};
void inv_tallies_sum(const struct inv_tallies *t, const char *node,
		     struct inv_tallies_sum *sum);

/* How tables are printed. */
struct inv_tallies_opts {
	uint64_t ms;  /* how long was counted; 0: unknown */
	uint64_t top; /* rows; 0: all */
	bool final;   /* for JSON */
};

/*
 * inv_tallies_text appends a table, the highest count first; inv_tallies_json an
 * object on a line for each key. flow knows the names of processes. Return the
 * number of keys.
 */
size_t inv_tallies_text(const struct inv_tallies *t, struct inv_flow *flow,
			const struct inv_tallies_opts *o, struct inv_buf *b);
size_t inv_tallies_json(const struct inv_tallies *t, struct inv_flow *flow,
			const struct inv_tallies_opts *o, struct inv_buf *b);

#endif
