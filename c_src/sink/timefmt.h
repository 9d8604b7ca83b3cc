/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_TIMEFMT_H
#define INV_SINK_TIMEFMT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Formats times for people, such as "2026-11-21 10:37:44.000123", in local time
 * or UTC. The C library's result is cached for all events of one second. A
 * struct of zeros is valid, and means local time.
 */
#define INV_TIMEFMT_LEN 26

struct inv_timefmt {
	bool utc;
	bool brief; /* without the date: "10:37:44.000123" */
	/* private */
	bool valid;
	int64_t second;
	char text[INV_TIMEFMT_LEN + 6];
	uint8_t epoch[INV_DECIMAL_MAX]; /* `second' in decimal, for
					   inv_timefmt_ns */
	unsigned epoch_len;
};

void inv_timefmt_put(struct inv_timefmt *t, int64_t ts_ns, struct inv_buf *out);

/* Appends "2026-11-21T10:37:44.000123456Z" (ISO 8601). t->utc must be true. */
#define INV_TIMEFMT_ISO_LEN 30
void inv_timefmt_iso(struct inv_timefmt *t, int64_t ts_ns, struct inv_buf *out);

/* Appends ts_ns in decimal, like inv_buf_i64. */
void inv_timefmt_ns(struct inv_timefmt *t, int64_t ts_ns, struct inv_buf *out);

#endif
