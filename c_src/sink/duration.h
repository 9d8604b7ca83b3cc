/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_DURATION_H
#define INV_SINK_DURATION_H

#include <stdint.h>

#include "base/buf.h"

/*
 * Appends a time in ns with a unit that suits its size, rounded: "12.3 us",
 * "4.87 ms", "1.250 s". Times below a millisecond have one decimal. Faster than
 * printf.
 */
void inv_duration_put(int64_t ns, struct inv_buf *out);

/* Appends a time in ns with three digits, for columns: "512 ns", "1.02 us",
 * "12.3 ms", "123 s"; more digits only for times of 1000 s or more. */
void inv_duration_short(uint64_t ns, struct inv_buf *out);

#endif
