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
	t->epoch_len = (unsigned)(inv_decimal_i64(t->epoch, second) - t->epoch);
	if ((t->utc ? gmtime_r(&clock, &tm) : localtime_r(&clock, &tm)) &&
	    strftime(t->text, sizeof(t->text), "%Y-%m-%d %H:%M:%S.", &tm) ==
		    SECOND_LEN)
		return;
	/* The year has more than four digits: the log is damaged. */
	memcpy(t->text, "****-**-** **:**:**.", SECOND_LEN);
}

/* Sets t->text to the date and time, up to the whole second. Returns the
 * fraction of the second, in ns. */
static uint32_t split(struct inv_timefmt *t, int64_t ts_ns)
{
	int64_t second = ts_ns / 1000000000;
	int64_t rest = ts_ns % 1000000000;

	if (rest < 0) {
		rest += 1000000000;
		second--;
	}
	if (!t->valid || second != t->second)
		set_second(t, second);
	return (uint32_t)rest;
}

/* Writes six digits. */
static void micros(uint8_t *w, uint32_t us)
{
	inv_decimal_two(w, us / 10000);
	inv_decimal_two(w + 2, us / 100 % 100);
	inv_decimal_two(w + 4, us % 100);
}

/* Writes nine digits. */
static void nanos(uint8_t *w, uint32_t ns)
{
	micros(w, ns / 1000);
	inv_decimal_two(w + 6, ns / 10 % 100);
	w[8] = (uint8_t)('0' + ns % 10);
}

void inv_timefmt_put(struct inv_timefmt *t, int64_t ts_ns, struct inv_buf *out)
{
	uint32_t rest = split(t, ts_ns);
	uint8_t *w = inv_buf_reserve(out, INV_TIMEFMT_LEN);

	if (!w)
		return;
	memcpy(w, t->text, SECOND_LEN);
	micros(w + SECOND_LEN, rest / 1000);
	if (t->brief)
		memmove(w, w + DAY_LEN, INV_TIMEFMT_LEN - DAY_LEN);
	inv_buf_commit(out, INV_TIMEFMT_LEN - (t->brief ? DAY_LEN : 0));
}

void inv_timefmt_iso(struct inv_timefmt *t, int64_t ts_ns, struct inv_buf *out)
{
	uint32_t rest = split(t, ts_ns);
	uint8_t *w = inv_buf_reserve(out, INV_TIMEFMT_ISO_LEN);

	if (!w)
		return;
	memcpy(w, t->text, SECOND_LEN);
	w[DAY_LEN - 1] = 'T';
	nanos(w + SECOND_LEN, rest);
	w[SECOND_LEN + 9] = 'Z';
	inv_buf_commit(out, INV_TIMEFMT_ISO_LEN);
}

void inv_timefmt_ns(struct inv_timefmt *t, int64_t ts_ns, struct inv_buf *out)
{
	uint32_t rest;
	uint8_t *w;

	if (ts_ns < 1000000000) {
		inv_buf_i64(out, ts_ns);
		return;
	}
	rest = split(t, ts_ns);
	w = inv_buf_reserve(out, sizeof(t->epoch) + 9);
	if (!w)
		return;
	memcpy(w, t->epoch, sizeof(t->epoch));
	nanos(w + t->epoch_len, rest);
	inv_buf_commit(out, t->epoch_len + 9);
}
