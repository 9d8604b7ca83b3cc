/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CLOCK_REPORT_H
#define INV_CLI_CLOCK_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "flow/order.h"

/*
 * Reports three things: how the clocks of the nodes differ (estimates with
 * their intervals); which nodes cannot be compared; and how many events the
 * logical clock moved. If no clocks were compared, both functions write
 * nothing.
 */

/* Appends lines for people, each with the prefix. */
void inv_clock_report_text(struct inv_order *o, const char *prefix,
			   struct inv_buf *out);
/* Writes the object "clocks". */
void inv_clock_report_json(struct inv_order *o, struct inv_json *j);

#endif
