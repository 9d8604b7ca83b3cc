/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_HOP_ROWS_H
#define INV_SINK_HOP_ROWS_H

#include <stdbool.h>

#include "flow/hops.h"

/*
 * Returns an array with an element for each hop. The element is true if the
 * hop's receiver had another event between the send event and the receive
 * event: such a message cannot be drawn in one row. The caller frees the array.
 * Returns NULL if there is no memory.
 */
bool *inv_hop_splits(const struct inv_hops *h);

#endif
