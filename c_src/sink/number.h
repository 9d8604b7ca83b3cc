/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_NUMBER_H
#define INV_SINK_NUMBER_H

#include <stdint.h>

#include "base/buf.h"

/* Appends a number in at most seven columns. A number below ten million is
 * written in full: "1048576". A larger number is rounded down to three digits,
 * with M, G, T, P or E for powers of a thousand: "12.3M", "1.02G". */
void inv_number_short(uint64_t n, struct inv_buf *out);

#endif
