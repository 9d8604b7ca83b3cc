/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session_name.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

void inv_session_name_make(char *out, size_t size, const char *kind)
{
	uint32_t r;

	if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
		r = (uint32_t)time(NULL) ^ (uint32_t)getpid() << 16;
	snprintf(out, size, "%s-%08x", kind, (unsigned)r);
}

bool inv_session_name_good(const char *name)
{
	size_t len = strlen(name);

	return len && len <= 64 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == len;
}

void inv_session_name_take(const char **name, const char *arg,
			   struct argp_state *state)
{
	if (*name)
		argp_error(state, "one recording at a time");
	if (!inv_session_name_good(arg))
		argp_error(state, "%s: not a valid name of a recording", arg);
	*name = arg;
}

void inv_session_name_need(const char *name, struct argp_state *state)
{
	if (!name)
		argp_error(state, "which recording? `inviso status' lists "
				  "them");
}
