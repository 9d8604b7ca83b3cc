/* SPDX-License-Identifier: Apache-2.0 */

/* Tests which existing files a new file of a log replaces. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "spool/files.h"

static char dir[] = "/tmp/inviso-files-XXXXXX";
static struct inv_files files;

static void an_empty_leftover_is_replaced(void **state)
{
	struct inv_err err = { 0 };
	int fd = open(files.path, O_CREAT | O_RDWR, 0600);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_true(inv_files_create(&files, 0, INV_LEFTOVER_NONE, &err) < 0);
	assert_non_null(strstr(err.text, "File exists"));
	fd = inv_files_create(&files, 0, INV_LEFTOVER_EMPTY, &err);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(unlink(files.path), 0);
}

/* The descriptor keeps the file locked, as another spooler would. */
static void a_leftover_that_is_being_written_is_busy(void **state)
{
	struct inv_err err = { 0 };
	int fd = open(files.path, O_CREAT | O_RDWR, 0600);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(inv_files_create(&files, 0, INV_LEFTOVER_EMPTY, &err),
			 INV_EBUSY);
	assert_non_null(strstr(err.text, "another spooler writes it"));
	close(fd);
	assert_int_equal(unlink(files.path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_leftover_is_replaced),
		cmocka_unit_test(a_leftover_that_is_being_written_is_busy),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	snprintf(files.path, sizeof(files.path), "%s/log", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
