/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TALLY_TABLE_H
#define INV_SINK_TALLY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "flow/ranking.h"

#define INV_TIMES_DRAWN 3 /* how many histograms are drawn by default */

/* How the counts or times of a session are printed. */
struct inv_tally_table {
	struct inv_ranking_opts rows;
	bool timed;	/* calls were timed, not counted */
	bool final;	/* the value of "final" in each object of JSON */
	uint64_t ms;	/* how long the nodes have counted; 0: unknown */
	uint64_t top;	/* print at most this many rows; 0: all */
	uint64_t drawn; /* how many histograms are drawn, if calls were timed */
};

/*
 * inv_tally_table_text appends a table. A table of times also has the
 * histograms of its first rows. inv_tally_table_json appends one line with a
 * JSON object for each row. Names of processes are taken from flow.
 */
void inv_tally_table_text(const struct inv_tally_table *o,
			  const struct inv_tallies *t, struct inv_flow *flow,
			  struct inv_buf *b);
void inv_tally_table_json(const struct inv_tally_table *o,
			  const struct inv_tallies *t, struct inv_flow *flow,
			  struct inv_buf *b);

#endif
