/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TALLY_TABLE_H
#define INV_SINK_TALLY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/flow.h"
#include "flow/tallies.h"

/* How counts are printed. */
struct inv_tally_table {
	bool by_node;	 /* a row for each node; otherwise nodes are added up.
			    Rows of processes always have a node */
	bool nodes_only; /* the rows are the nodes */
	bool final;	 /* for JSON */
	uint64_t ms;	 /* how long was counted; 0: unknown */
	uint64_t top;	 /* rows; 0: all */
};

/*
 * inv_tally_table_text appends a table, the highest count first;
 * inv_tally_table_json an object on a line for each key. flow knows the names of
 * processes. Return the number of keys.
 */
size_t inv_tally_table_text(const struct inv_tally_table *o,
			    const struct inv_tallies *t, struct inv_flow *flow,
			    struct inv_buf *b);
size_t inv_tally_table_json(const struct inv_tally_table *o,
			    const struct inv_tallies *t, struct inv_flow *flow,
			    struct inv_buf *b);

#endif
