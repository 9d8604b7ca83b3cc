/* SPDX-License-Identifier: Apache-2.0 */

/* Recovers ring files from which no log can be made. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "spool/recover.h"
#include "unit/spool_process.h"

static void a_ring_of_another_version_is_refused(void **state)
{
	struct inv_recovered done;
	struct ring_build b;
	struct inv_err err;
	char ring[160];

	(void)state;
	snprintf(ring, sizeof(ring), "%s/ring", dir);
	build_open(&b, open(ring, O_CREAT | O_RDWR | O_CLOEXEC, 0600), 1, 64,
		   4096, INV_KEEP_OLDEST, path);
	build_event(&b.p[0], 10);
	b.ctl->version = 1;
	assert_int_equal(inv_recover(ring, NULL, false, &done, &err),
			 INV_EVERSION);
	assert_non_null(strstr(err.text, "version 1"));
	assert_non_null(strstr(err.text, "use the release"));
	assert_int_not_equal(access(path, F_OK), 0);
	build_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_ring_of_another_version_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
