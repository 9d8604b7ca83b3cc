/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_DRAW_H
#define INV_SINK_DRAW_H

#include "base/buf.h"
#include "flow/histogram.h"

/* A function that appends a value as text: inv_duration_short or
 * inv_number_short. */
typedef void inv_draw_value(uint64_t value, struct inv_buf *b);

/*
 * Appends a histogram as lines of at most 80 columns, with a logarithmic scale:
 *
 * 	   8.2 us     12.3 us      5120  51.2% ##########################
 *
 * A line has the lowest value of the line, the lowest value of the next line,
 * the number of values in the line, and their share of all values. Each power
 * of two has the same number of lines, at most eight. If the values are far
 * apart, a line stands for several powers of two instead. Three or more lines
 * without values, one after the other, become one line with "...".
 */
void inv_draw_histogram(const struct inv_histogram *h, inv_draw_value *put,
			struct inv_buf *b);

#endif
