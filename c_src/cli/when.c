/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/when.h"

#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

/* Parses n digits at *p as a number from min to max. */
static bool digits(const char **p, int n, int min, int max, int *v)
{
	*v = 0;
	for (int i = 0; i < n; i++) {
		char c = *(*p)++;

		if (c < '0' || c > '9')
			return false;
		*v = *v * 10 + (c - '0');
	}
	return *v >= min && *v <= max;
}

static bool skip(const char **p, char c)
{
	if (**p != c)
		return false;
	++*p;
	return true;
}

/* Parses ".5", or nothing. Sets *ns. */
static bool fraction(const char **p, int64_t *ns)
{
	int64_t unit = SECOND / 10;

	*ns = 0;
	if (!skip(p, '.'))
		return true;
	if (**p < '0' || **p > '9')
		return false;
	for (; **p >= '0' && **p <= '9'; ++*p, unit /= 10)
		*ns += (**p - '0') * unit;
	return true;
}

/* Parses 10:37, 10:37:44 or 10:37:44.5. */
static bool clock_time(struct inv_when *w, const char **p)
{
	if (!digits(p, 2, 0, 23, &w->tm.tm_hour) || !skip(p, ':') ||
	    !digits(p, 2, 0, 59, &w->tm.tm_min))
		return false;
	if (!skip(p, ':'))
		return true;
	return digits(p, 2, 0, 60, &w->tm.tm_sec) && fraction(p, &w->ns);
}

/* Parses 2026-11-21. */
static bool date(struct inv_when *w, const char **p)
{
	struct tm same;

	if (!digits(p, 4, 1970, 9999, &w->tm.tm_year) || !skip(p, '-') ||
	    !digits(p, 2, 1, 12, &w->tm.tm_mon) || !skip(p, '-') ||
	    !digits(p, 2, 1, 31, &w->tm.tm_mday))
		return false;
	w->tm.tm_year -= 1900;
	w->tm.tm_mon--;
	same = w->tm;
	/* Refuses dates such as the 31st of February. */
	return timegm(&same) >= 0 && same.tm_mday == w->tm.tm_mday;
}

/* Parses Z, +01:00, or nothing. */
static bool zone(struct inv_when *w, const char **p)
{
	int hours, minutes, sign = **p == '-' ? -1 : 1;

	w->zone = true;
	if (skip(p, 'Z'))
		return true;
	if (!skip(p, '+') && !skip(p, '-')) {
		w->zone = false;
		return true;
	}
	if (!digits(p, 2, 0, 23, &hours))
		return false;
	skip(p, ':');
	if (!digits(p, 2, 0, 59, &minutes))
		return false;
	w->offset = sign * (hours * 3600 + minutes * 60);
	return true;
}

static bool parse(struct inv_when *w, const char *p)
{
	size_t n = strspn(p, "0123456789");

	w->tm.tm_isdst = -1;
	if (p[n] == ':') {
		w->kind = INV_WHEN_CLOCK;
		return clock_time(w, &p) && zone(w, &p) && !*p;
	}
	if (p[n] == '-') {
		w->kind = INV_WHEN_DATE;
		if (!date(w, &p))
			return false;
		if (!*p)
			return true;
		return (skip(&p, 'T') || skip(&p, ' ')) && clock_time(w, &p) &&
		       zone(w, &p) && !*p;
	}
	w->kind = INV_WHEN_EPOCH;
	w->s = n && n < 11 ? strtoll(p, NULL, 10) : 0;
	p += n;
	return n && n < 11 && fraction(&p, &w->ns) && !*p;
}

int inv_when_parse(struct inv_when *w, const char *text, struct inv_err *err)
{
	memset(w, 0, sizeof(*w));
	if (parse(w, text))
		return 0;
	return inv_err_set(err, INV_EINVAL,
			   "%s: not a time; write 2026-11-21T10:37:44.5 (with "
			   "a Z at the end it is UTC), 10:37:44.5 (of the day "
			   "of the first event) or 1763721464.5 (seconds since "
			   "the Unix epoch)",
			   text);
}

static int64_t clamp(int64_t s, int64_t ns)
{
	int64_t sum;

	if (__builtin_mul_overflow(s, SECOND, &sum) ||
	    __builtin_add_overflow(sum, ns, &sum))
		return s < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

int64_t inv_when_ns(const struct inv_when *w, bool utc, int64_t day_ns,
		    int days)
{
	bool local = !utc && !w->zone;
	struct tm tm = w->tm;

	if (w->kind == INV_WHEN_EPOCH)
		return clamp(w->s, w->ns);
	if (w->kind == INV_WHEN_CLOCK) {
		time_t day = (time_t)(day_ns / SECOND + w->offset);
		struct tm of;

		if (local ? !localtime_r(&day, &of) : !gmtime_r(&day, &of))
			return INT64_MIN;
		tm.tm_year = of.tm_year;
		tm.tm_mon = of.tm_mon;
		tm.tm_mday = of.tm_mday + days;
	}
	if (local)
		return clamp(mktime(&tm), w->ns);
	return clamp(timegm(&tm) - w->offset, w->ns);
}
