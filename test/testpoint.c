/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The default inv_testpoint(), which INV_TESTPOINT calls in MODE=stress and
 * MODE=tsan. It is in an archive, so the linker leaves it out of a test that
 * defines inv_testpoint().
 *
 * With INV_KILL_AT=NAME:N, the process is killed when it passes the test point
 * NAME for the Nth time; without :N, the first time.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void inv_testpoint(const char *name);

void inv_testpoint(const char *name)
{
	static atomic_int passed;
	const char *at = getenv("INV_KILL_AT");
	size_t len = at ? strcspn(at, ":") : 0;
	int nth;

	if (!at || strlen(name) != len || strncmp(at, name, len) != 0)
		return;
	nth = at[len] ? (int)strtol(at + len + 1, NULL, 10) : 1;
	if (atomic_fetch_add(&passed, 1) + 1 == nth)
		raise(SIGKILL);
}
