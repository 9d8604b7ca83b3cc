/* SPDX-License-Identifier: Apache-2.0 */
#include "base/deadline.h"

#include <stdlib.h>
#include <string.h>

#define SHORTEST 10

uint64_t inv_deadline(uint64_t time)
{
	static const char only[] = "only in tests: 1/";
	const char *text = getenv("INVISO_TEST_DEADLINES"); // NOLINT
	char *end;
	long n;

	if (!text || strncmp(text, only, sizeof(only) - 1) != 0)
		return time;
	text += sizeof(only) - 1;
	n = strtol(text, &end, 10);
	return end != text && *end == '\0' && n >= 1 && n <= SHORTEST ?
		       time / (uint64_t)n :
		       time;
}
