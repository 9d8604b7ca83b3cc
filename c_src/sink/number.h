/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_NUMBER_H
#define INV_SINK_NUMBER_H

#include <stdint.h>

#include "base/buf.h"

/* Appends a number in at most seven columns: "1048576"; from ten million on rounded
 * down to three digits, "12.3M", "1.02G", with k, M, G, T, P and E for powers of a
 * thousand. */
void inv_number_short(uint64_t n, struct inv_buf *out);

#endif
