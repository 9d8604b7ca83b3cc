/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_SEQUENCE_JSON_H
#define INV_SINK_SEQUENCE_JSON_H

#include "base/json.h"
#include "flow/hops.h"

/*
 * Appends finished hops as the data of a sequence chart: an object with nodes,
 * processes, rows (the first `most' events), requests and hops. `left_out' is
 * the number of events that are missing in h, and `lost' the number of events
 * that were lost while the requests ran. Returns left_out plus the number of
 * events beyond `most'.
 */
uint64_t inv_sequence_json(const struct inv_hops *h, size_t most,
			   uint64_t left_out, uint64_t lost,
			   struct inv_json *j);

#endif
