/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TOP_FIGURES_H
#define INV_TOP_FIGURES_H

#include <stdint.h>

/* The functions below format a number as a short text for a column of a table.
 * The text has at most INV_FIGURE - 1 characters. A negative number means that
 * the number is unknown, and becomes "-". */
#define INV_FIGURE 32

/* "0", "7.5", "812", "12.3k", "4.56M": powers of 1000. */
void inv_figure_count(double v, char out[INV_FIGURE]);
/* "812", "12.3K", "4.56G": powers of 1024. */
void inv_figure_bytes(double v, char out[INV_FIGURE]);
/* "12s", "3m04s", "5h12m", "3d04h" */
void inv_figure_uptime(int64_t ms, char out[INV_FIGURE]);
/* "1.02 us"; INT64_MAX or more means that the time is unknown */
void inv_figure_time(uint64_t ns, char out[INV_FIGURE]);

#endif
