/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/number.h"

#include <inttypes.h>

#define WHOLE_MAX 9999999u

void inv_number_short(uint64_t n, struct inv_buf *out)
{
	static const char units[] = "kMGTPE";
	unsigned decimals = 3;
	unsigned i = 0;

	if (n <= WHOLE_MAX) {
		inv_buf_u64(out, n);
		return;
	}
	/* n is in thousandths of the unit units[i]. */
	for (; n > 999999; n /= 1000)
		i++;
	while (n > 999) {
		n /= 10;
		decimals--;
	}
	if (decimals == 0)
		inv_buf_printf(out, "%" PRIu64, n);
	else if (decimals == 1)
		inv_buf_printf(out, "%" PRIu64 ".%" PRIu64, n / 10, n % 10);
	else
		inv_buf_printf(out, "%" PRIu64 ".%02" PRIu64, n / 100, n % 100);
	inv_buf_putc(out, units[i]);
}
