/* SPDX-License-Identifier: Apache-2.0 */
#include "top/figures.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "sink/duration.h"

static void scaled(double v, double base, const char *const *units,
		   char out[INV_FIGURE])
{
	size_t unit = 0;

	if (v < 0) {
		snprintf(out, INV_FIGURE, "-");
		return;
	}
	/* 999.5 would be rounded to four digits. */
	while (v >= 999.5 && units[unit + 1]) {
		v /= base;
		unit++;
	}
	if (v > 999)
		snprintf(out, INV_FIGURE, "%.3g%s", v, units[unit]);
	else if (!unit && v == (double)(int)v)
		snprintf(out, INV_FIGURE, "%d", (int)v);
	else if (v >= 99.95)
		snprintf(out, INV_FIGURE, "%.0f%s", v, units[unit]);
	else if (v >= 9.995 || !unit)
		snprintf(out, INV_FIGURE, "%.1f%s", v, units[unit]);
	else
		snprintf(out, INV_FIGURE, "%.2f%s", v, units[unit]);
}

void inv_figure_count(double v, char out[INV_FIGURE])
{
	static const char *const units[] = {
		"", "k", "M", "G", "T", "P", NULL
	};

	scaled(v, 1000, units, out);
}

void inv_figure_bytes(double v, char out[INV_FIGURE])
{
	static const char *const units[] = {
		"", "K", "M", "G", "T", "P", NULL
	};

	scaled(v, 1024, units, out);
}

void inv_figure_uptime(int64_t ms, char out[INV_FIGURE])
{
	int64_t s = ms / 1000;

	if (ms < 0)
		snprintf(out, INV_FIGURE, "-");
	else if (s < 60)
		snprintf(out, INV_FIGURE, "%" PRId64 "s", s);
	else if (s < 3600)
		snprintf(out, INV_FIGURE, "%" PRId64 "m%02" PRId64 "s", s / 60,
			 s % 60);
	else if (s < 86400)
		snprintf(out, INV_FIGURE, "%" PRId64 "h%02" PRId64 "m",
			 s / 3600, s / 60 % 60);
	else
		snprintf(out, INV_FIGURE, "%" PRId64 "d%02" PRId64 "h",
			 s / 86400, s / 3600 % 24);
}

void inv_figure_time(uint64_t ns, char out[INV_FIGURE])
{
	struct inv_buf b = { 0 };

	if (ns < INT64_MAX)
		inv_duration_short(ns, &b);
	else
		inv_buf_putc(&b, '-');
	snprintf(out, INV_FIGURE, "%.*s", (int)b.len,
		 b.data ? (const char *)b.data : "");
	inv_buf_release(&b);
}
