/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TIMES_TABLE_H
#define INV_SINK_TIMES_TABLE_H

#include "base/buf.h"
#include "base/json.h"
#include "sink/tally_table.h"

/* Used by tally_table.c. inv__times_rows appends the rows of a table of times,
 * and the histograms of the first rows. inv__times_json appends the members
 * that follow the count in the JSON object of a row. */
void inv__times_rows(const struct inv_tally_table *o,
		     const struct inv_flow *flow, const struct inv_ranking *r,
		     struct inv_buf *b);
void inv__times_json(const struct inv_rank *r, struct inv_json *j);

#endif
