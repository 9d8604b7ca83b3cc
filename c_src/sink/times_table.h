/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TIMES_TABLE_H
#define INV_SINK_TIMES_TABLE_H

#include "base/buf.h"
#include "base/json.h"
#include "sink/tally_table.h"

/* For tally_table.c: the rows of a table of times, with the first histograms;
 * and the members of a row's object after its count. */
void inv__times_rows(const struct inv_tally_table *o,
		     const struct inv_flow *flow, const struct inv_ranking *r,
		     struct inv_buf *b);
void inv__times_json(const struct inv_rank *r, struct inv_json *j);

#endif
