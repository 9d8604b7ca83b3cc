/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/timefmt.h"

#include <stdio.h>
#include <time.h>

#define SECOND_LEN 20 /* "2026-11-21 10:37:44." */
#define DAY_LEN 11

static void set_second(struct inv_timefmt *t, int64_t second)
{
	time_t clock = (time_t)second;
	struct tm tm;

	t->second = second;
	t->valid = true;
	if ((t->utc ? gmtime_r(&clock, &tm) : localtime_r(&clock, &tm)) &&
	    strftime(t->text, sizeof(t->text), "%Y-%m-%d %H:%M:%S.", &tm) ==
		    SECOND_LEN)
		return;
	/* The year has more than four digits: the log is damaged. */
	memcpy(t->text, "****-**-** **:**:**.", SECOND_LEN);
}

static void two_digits(uint8_t *w, uint32_t v)
{
	w[0] = (uint8_t)('0' + v / 10);
	w[1] = (uint8_t)('0' + v % 10);
}

void inv_timefmt_put(struct inv_timefmt *t, int64_t ts_ns, struct inv_buf *out)
{
	int64_t second = ts_ns / 1000000000;
	int64_t rest = ts_ns % 1000000000;
	uint32_t us;
	uint8_t *w;

	if (rest < 0) {
		rest += 1000000000;
		second--;
	}
	if (!t->valid || second != t->second)
		set_second(t, second);
	w = inv_buf_reserve(out, INV_TIMEFMT_LEN);
	if (!w)
		return;
	memcpy(w, t->text, SECOND_LEN);
	us = (uint32_t)(rest / 1000);
	two_digits(w + SECOND_LEN, us / 10000);
	two_digits(w + SECOND_LEN + 2, us / 100 % 100);
	two_digits(w + SECOND_LEN + 4, us % 100);
	if (t->brief)
		memmove(w, w + DAY_LEN, INV_TIMEFMT_LEN - DAY_LEN);
	inv_buf_commit(out, INV_TIMEFMT_LEN - (t->brief ? DAY_LEN : 0));
}
