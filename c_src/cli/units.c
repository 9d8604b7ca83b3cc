/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit times[] = { { "", 1000 },	{ "ms", 1 },
				     { "s", 1000 },	{ "m", 60000 },
				     { "min", 60000 },	{ "h", 3600000 },
				     { "d", 86400000 }, { NULL, 0 } };

static const struct unit fine_times[] = {
	{ "", UINT64_C(1000000000) },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", UINT64_C(1000000000) },
	{ "m", UINT64_C(60000000000) },
	{ "min", UINT64_C(60000000000) },
	{ NULL, 0 },
};

static const struct unit sizes[] = {
	{ "", 1 },
	{ "b", 1 },
	{ "k", UINT64_C(1) << 10 },
	{ "kb", UINT64_C(1) << 10 },
	{ "kib", UINT64_C(1) << 10 },
	{ "m", UINT64_C(1) << 20 },
	{ "mb", UINT64_C(1) << 20 },
	{ "mib", UINT64_C(1) << 20 },
	{ "g", UINT64_C(1) << 30 },
	{ "gb", UINT64_C(1) << 30 },
	{ "gib", UINT64_C(1) << 30 },
	{ NULL, 0 },
};

static const struct unit counts[] = {
	{ "", 1 },	     { "k", 1000 }, { "m", 1000000 },
	{ "g", 1000000000 }, { NULL, 0 },
};

/* Larger than any sensible value, and small enough that sums of a few values do
 * not overflow. */
#define GREATEST (UINT64_C(1) << 60)
#define DECIMALS 6

/* Parses digits, and a fraction of DECIMALS decimals. There must be at least
 * one digit. */
static const char *number(const char *p, uint64_t *whole, uint64_t *decimals)
{
	*whole = 0;
	*decimals = 0;
	if (!isdigit((unsigned char)*p))
		return NULL;
	for (; isdigit((unsigned char)*p); p++) {
		if (*whole > GREATEST / 10)
			return NULL;
		*whole = *whole * 10 + (uint64_t)(*p - '0');
	}
	if (*p != '.')
		return p;
	if (!isdigit((unsigned char)*++p))
		return NULL;
	for (unsigned i = 0; i < DECIMALS; i++) {
		*decimals *= 10;
		if (isdigit((unsigned char)*p))
			*decimals += (uint64_t)(*p++ - '0');
	}
	while (isdigit((unsigned char)*p))
		p++;
	return p;
}

static int parse(const char *text, const struct unit *units, uint64_t *value)
{
	uint64_t whole, decimals;
	const char *p = number(text, &whole, &decimals);

	if (!p)
		return INV_EINVAL;
	for (; units->name; units++) {
		if (strcasecmp(p, units->name) != 0)
			continue;
		if (whole > GREATEST / units->factor)
			return INV_EINVAL;
		/* Cannot overflow: decimals < 10^6 and factor < 2^40. */
		decimals = decimals * units->factor / 1000000;
		*value = whole * units->factor + decimals;
		return 0;
	}
	return INV_EINVAL;
}

int inv_units_ms(const char *text, uint64_t *ms)
{
	return parse(text, times, ms);
}

int inv_units_ns(const char *text, uint64_t *ns)
{
	return parse(text, fine_times, ns);
}

int inv_units_bytes(const char *text, uint64_t *bytes)
{
	return parse(text, sizes, bytes);
}

int inv_units_count(const char *text, uint64_t *n)
{
	return parse(text, counts, n);
}

void inv_units_put_ms(struct inv_buf *b, uint64_t ms)
{
	uint64_t s = (ms + 500) / 1000;

	if (ms < 1000)
		inv_buf_printf(b, "%" PRIu64 " ms", ms);
	else if (ms < 10000 && ms % 1000 >= 100)
		inv_buf_printf(b, "%" PRIu64 ".%" PRIu64 " s", ms / 1000,
			       ms % 1000 / 100);
	else if (s < 120)
		inv_buf_printf(b, "%" PRIu64 " s", s);
	else if (s < 3600 && s % 60)
		inv_buf_printf(b, "%" PRIu64 " min %" PRIu64 " s", s / 60,
			       s % 60);
	else if (s < 3600)
		inv_buf_printf(b, "%" PRIu64 " min", s / 60);
	else if (s % 3600 / 60)
		inv_buf_printf(b, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
			       s % 3600 / 60);
	else
		inv_buf_printf(b, "%" PRIu64 " h", s / 3600);
}

void inv_units_put_bytes(struct inv_buf *b, uint64_t bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB" };
	unsigned i = 0;
	uint64_t tenths;

	if (bytes < 1024) {
		inv_buf_printf(b, "%" PRIu64 " B", bytes);
		return;
	}
	for (; bytes >= 1024 * 1024 && i < 3; i++)
		bytes /= 1024;
	tenths = bytes * 10 / 1024;
	if (tenths < 100 && tenths % 10)
		inv_buf_printf(b, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10,
			       tenths % 10, names[i]);
	else
		inv_buf_printf(b, "%" PRIu64 " %s", tenths / 10, names[i]);
}
