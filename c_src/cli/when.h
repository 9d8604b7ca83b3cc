/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_WHEN_H
#define INV_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

/*
 * A time that was given on the command line:
 *
 *	2026-11-21T10:37:44.5	local time, or with --utc UTC; seconds, and
 *				their fraction, can be left out
 *	2026-11-21T10:37:44Z	UTC; also +01:00
 *	10:37:44.5		the same of a day that is known later
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
	bool zone;	/* offset is known */
	int64_t offset; /* s east of Greenwich */
	int64_t s;	/* EPOCH */
	int64_t ns;
};

/* INV_EINVAL, with words. */
int inv_when_parse(struct inv_when *w, const char *text, struct inv_err *err);

/*
 * ns since the Unix epoch; of a time without a day that of day_ns, later by
 * `days' days.  A time that is beyond what can be said is the nearest that can.
 */
int64_t inv_when_ns(const struct inv_when *w, bool utc, int64_t day_ns,
		    int days);

static inline bool inv_when_needs_day(const struct inv_when *w)
{
	return w->kind == INV_WHEN_CLOCK;
}

#endif
