/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TIMEFMT_H
#define INV_SINK_TIMEFMT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Writes times for people, "2026-11-21 10:37:44.000123", local or UTC.  What
 * the C library says of a second is kept for the events of that second.  All
 * zero is one for local time.
 */
#define INV_TIMEFMT_LEN 26

struct inv_timefmt {
	bool utc;
	bool brief; /* without the day: "10:37:44.000123" */
	/* private */
	bool valid;
	int64_t second;
	char text[INV_TIMEFMT_LEN + 6];
};

void inv_timefmt_put(struct inv_timefmt *t, int64_t ts_ns, struct inv_buf *out);

#endif
