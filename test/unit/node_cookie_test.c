/* SPDX-License-Identifier: Apache-2.0 */
#include "node/cookie.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static const char *in_dir(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Makes a home directory for the test, and removes the environment variables
 * from which a cookie is read. */
static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/cookie_test.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	unsetenv("INVISO_COOKIE");
	unsetenv("RELEASE_COOKIE");
	unsetenv("XDG_CONFIG_HOME");
	return setenv("HOME", dir, 1);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command); // NOLINT(cert-env33-c)
}

static void the_first_source_that_is_there_counts(void **state)
{
	struct inv_cookie c;
	struct inv_err err;

	(void)state;
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), INV_EINVAL);
	assert_non_null(strstr(err.text, "--cookie-file"));

	assert_int_equal(mkdir(in_dir(".config"), 0700), 0);
	assert_int_equal(mkdir(in_dir(".config/erlang"), 0700), 0);
	write_file(".config/erlang/.erlang.cookie", "XDG\n", 0400);
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), 0);
	assert_string_equal(c.text, "XDG");
	assert_int_equal(c.source, INV_COOKIE_XDG);

	assert_int_equal(mkdir(in_dir("x"), 0700), 0);
	assert_int_equal(mkdir(in_dir("x/erlang"), 0700), 0);
	write_file("x/erlang/.erlang.cookie", "XDG2", 0600);
	assert_int_equal(setenv("XDG_CONFIG_HOME", in_dir("x"), 1), 0);
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), 0);
	assert_string_equal(c.text, "XDG2");

	write_file(".erlang.cookie", "HOME", 0400);
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), 0);
	assert_string_equal(c.text, "HOME");
	assert_int_equal(c.source, INV_COOKIE_HOME);

	assert_int_equal(setenv("RELEASE_COOKIE", "RELEASE", 1), 0);
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), 0);
	assert_string_equal(c.text, "RELEASE");
	assert_int_equal(c.source, INV_COOKIE_RELEASE);

	assert_int_equal(setenv("INVISO_COOKIE", "ENV", 1), 0);
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), 0);
	assert_string_equal(c.text, "ENV");
	assert_int_equal(c.source, INV_COOKIE_ENV);

	write_file("file", "FILE", 0600);
	assert_int_equal(inv_cookie_find(&c, NULL, in_dir("file"), &err), 0);
	assert_string_equal(c.text, "FILE");
	assert_int_equal(c.source, INV_COOKIE_FILE);

	assert_int_equal(inv_cookie_find(&c, "OPT", in_dir("file"), &err), 0);
	assert_string_equal(c.text, "OPT");
	assert_int_equal(c.source, INV_COOKIE_OPTION);
}

static void white_space_at_the_end_is_removed(void **state)
{
	struct inv_cookie c;

	(void)state;
	write_file("file", "with space inside \r\n\n", 0600);
	assert_int_equal(inv_cookie_find(&c, NULL, in_dir("file"), NULL), 0);
	assert_string_equal(c.text, "with space inside");
}

static void a_file_that_others_can_access_is_refused(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0601 };
	struct inv_cookie c;
	struct inv_err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		write_file(".erlang.cookie", "HOME", modes[i]);
		assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err),
				 INV_EREFUSED);
		assert_non_null(strstr(err.text, "chmod 600"));
		assert_string_equal(c.text, "");
	}
}

static void a_named_file_must_exist(void **state)
{
	struct inv_cookie c;
	struct inv_err err;

	(void)state;
	write_file(".erlang.cookie", "HOME", 0600);
	assert_int_equal(inv_cookie_find(&c, NULL, in_dir("none"), &err),
			 INV_EIO);
	assert_non_null(strstr(err.text, "No such file"));
	assert_int_equal(inv_cookie_find(&c, NULL, dir, &err), INV_EINVAL);
}

static void cookies_that_erlang_refuses_are_refused(void **state)
{
	struct inv_cookie c;
	struct inv_err err;
	char big[INV_COOKIE_MAX + 2];

	(void)state;
	write_file(".erlang.cookie", "\n", 0600);
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), INV_EINVAL);
	write_file(".erlang.cookie", "a\nb", 0600);
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), INV_EINVAL);
	assert_int_equal(inv_cookie_find(&c, "", NULL, &err), INV_EINVAL);
	assert_int_equal(inv_cookie_find(&c, "\xc3\xa9", NULL, &err),
			 INV_EINVAL);
	memset(big, 'a', sizeof(big));
	big[INV_COOKIE_MAX + 1] = '\0';
	assert_int_equal(inv_cookie_find(&c, big, NULL, &err), INV_EINVAL);
	write_file(".erlang.cookie", big, 0600);
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), INV_EINVAL);
	big[INV_COOKIE_MAX] = '\0';
	assert_int_equal(inv_cookie_find(&c, big, NULL, &err), 0);
	assert_string_equal(c.text, big);
}

static void a_pipe_in_its_place_does_not_hang(void **state)
{
	struct inv_cookie c;
	struct inv_err err;

	(void)state;
	assert_int_equal(mkfifo(in_dir(".erlang.cookie"), 0600), 0);
	assert_int_equal(inv_cookie_find(&c, NULL, NULL, &err), INV_EINVAL);
}

#define WITH_HOME(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		WITH_HOME(the_first_source_that_is_there_counts),
		WITH_HOME(white_space_at_the_end_is_removed),
		WITH_HOME(a_file_that_others_can_access_is_refused),
		WITH_HOME(a_named_file_must_exist),
		WITH_HOME(cookies_that_erlang_refuses_are_refused),
		WITH_HOME(a_pipe_in_its_place_does_not_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
