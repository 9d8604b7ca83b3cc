/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/duration.h"

#include <inttypes.h>

/* The units, the largest first. The smallest unit is used for all shorter
 * times, too. */
static const struct unit {
	uint64_t from_ns;
	uint64_t step_ns; /* the value of 1 in the last decimal, in ns */
	unsigned decimals;
	const char *name;
} units[] = {
	{ 999995000, 1000000, 3, " s" },
	{ 999950, 10000, 2, " ms" },
	{ 0, 100, 1, " us" },
};

void inv_duration_put(int64_t ns, struct inv_buf *out)
{
	uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	const struct unit *u = units;
	uint64_t ten = 1;

	while (n < u->from_ns)
		u++;
	n = (n + u->step_ns / 2) / u->step_ns;
	for (unsigned i = 0; i < u->decimals; i++)
		ten *= 10;
	if (ns < 0 && n)
		inv_buf_putc(out, '-');
	inv_buf_u64(out, n / ten);
	inv_buf_putc(out, '.');
	for (n %= ten; ten > 1; n %= ten) {
		ten /= 10;
		inv_buf_putc(out, (char)('0' + n / ten));
	}
	inv_buf_puts(out, u->name);
}

void inv_duration_short(uint64_t ns, struct inv_buf *out)
{
	static const char *const names[] = { "ns", "us", "ms", "s" };
	uint64_t unit = 1;
	unsigned i = 0;

	/* 999.5 would be rounded to 1000, so it gets the next unit. */
	while (i < 3 && ns >= 999 * unit + (unit + 1) / 2) {
		unit *= 1000;
		i++;
	}
	if (i == 0 || ns >= 100 * unit - unit / 20)
		inv_buf_printf(out, "%" PRIu64,
			       ns / unit +
				       (ns % unit >= (unit + 1) / 2 && i > 0));
	else if (ns >= 10 * unit - unit / 200)
		inv_buf_printf(out, "%" PRIu64 ".%" PRIu64,
			       (ns + unit / 20) / unit,
			       (ns + unit / 20) % unit / (unit / 10));
	else
		inv_buf_printf(out, "%" PRIu64 ".%02" PRIu64,
			       (ns + unit / 200) / unit,
			       (ns + unit / 200) % unit / (unit / 100));
	inv_buf_printf(out, " %s", names[i]);
}
