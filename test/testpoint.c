/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What INV_TESTPOINT calls in MODE=stress and MODE=tsan, unless the test has
 * an inv_testpoint() of its own: this one is in an archive, so a test's wins.
 *
 * INV_KILL_AT=NAME or NAME:N kills the process the Nth time it gets there.
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
