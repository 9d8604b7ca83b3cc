/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_HOP_ROWS_H
#define INV_SINK_HOP_ROWS_H

#include <stdbool.h>

#include "flow/hops.h"

/*
 * Returns for each hop whether its receiver had another event between the send
 * event and the receive event. Such a message cannot be drawn as one row. The
 * caller frees the result. Returns NULL if there is no memory.
 */
bool *inv_hop_splits(const struct inv_hops *h);

#endif
