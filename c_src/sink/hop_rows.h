/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_HOP_ROWS_H
#define INV_SINK_HOP_ROWS_H

#include <stdbool.h>

#include "flow/hops.h"

/*
 * Returns for each hop if its receiver had another event between the send event
 * and the receive event, so that the message cannot be drawn as one row. The
 * caller frees it. NULL: no memory.
 */
bool *inv_hop_splits(const struct inv_hops *h);

#endif
