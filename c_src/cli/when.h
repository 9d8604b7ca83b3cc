/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_WHEN_H
#define INV_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

/*
 * A time from the command line:
 *
 *	2026-11-21T10:37:44.5	local time, or UTC with --utc; seconds and
 *				fraction are optional
 *	2026-11-21T10:37:44Z	UTC; also +01:00
 *	10:37:44.5		without a date; inv_when_ns adds the day
 *	1763721464.5		seconds since the Unix epoch
 */
struct inv_when {
	/* private */
	enum {
		INV_WHEN_EPOCH,
		INV_WHEN_DATE,
		INV_WHEN_CLOCK,
	} kind;
	struct tm tm;
	bool zone;	/* the text has a zone, so `offset' is valid */
	int64_t offset; /* seconds east of Greenwich */
	int64_t s;	/* INV_WHEN_EPOCH: the seconds */
	int64_t ns;
};

/* Returns 0, or INV_EINVAL with a message. */
int inv_when_parse(struct inv_when *w, const char *text, struct inv_err *err);

/*
 * Returns the time in ns since the Unix epoch. A time without a date is on the
 * day of day_ns, plus `days' days. A time out of range becomes the nearest
 * representable time.
 */
int64_t inv_when_ns(const struct inv_when *w, bool utc, int64_t day_ns,
		    int days);

static inline bool inv_when_needs_day(const struct inv_when *w)
{
	return w->kind == INV_WHEN_CLOCK;
}

#endif
