/* SPDX-License-Identifier: Apache-2.0 */

/* Tests which files of earlier logs a spooler replaces. The spooler runs as a
 * separate process, and this test acts as its VM. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "unit/spool_process.h"

static void an_older_log_is_replaced_on_request(void **state)
{
	struct ring_build b;
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		pid_t pid;

		build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
		b.ctl->replace = 1;
		pid = start(&b, getpid(), -1);
		build_event(&b.p[0], i);
		say_closed(&b);
		assert_int_equal(status_of(pid), 0);
		assert_int_equal(check_one()->s[0].recorded, 1);
		build_close(&b);
	}
}

static void a_log_that_is_being_written_is_not_replaced(void **state)
{
	struct ring_build b, other;
	unsigned rotates;
	char name[160];
	pid_t pid;

	(void)state;
	for (rotates = 0; rotates < 2; rotates++) {
		static struct log_check c;

		snprintf(name, sizeof(name), "%s%s", path, rotates ? ".0" : "");
		build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
		b.ctl->rotate_bytes = rotates ? 1000000 : 0;
		pid = start(&b, getpid(), -1);
		await_state(&b, INV_SPOOL_RUNNING);
		build_event(&b.p[0], 10);
		flush(&b);
		build_open(&other, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
		other.ctl->rotate_bytes = rotates ? 1000000 : 0;
		other.ctl->replace = 1;
		memset(other.ctl->uuid, 0x77, sizeof(other.ctl->uuid));
		assert_int_equal(status_of_failed(&other), EBUSY);
		assert_non_null(strstr(other.ctl->error_text, "writes"));
		build_close(&other);
		/* The lock of a spooler that was killed is free, so the next
		 * spooler can take it. */
		end_by_kill(pid);
		pid = start(&b, getpid(), -1);
		build_event(&b.p[0], 10);
		say_closed(&b);
		assert_int_equal(status_of(pid), 0);
		memset(&c, 0, sizeof(c));
		log_check_file(&c, name);
		assert_int_equal(c.s[0].recorded, 2);
		build_close(&b);
	}
}

/* A process holds the lock of the log for 300 ms, as the spooler of a tracer
 * that ends would. */
static void a_log_is_replaced_when_its_spooler_has_ended(void **state)
{
	unsigned rotates;
	char name[160];

	(void)state;
	for (rotates = 0; rotates < 2; rotates++) {
		struct ring_build b;
		pid_t holder, pid;
		int fd, ready[2];
		char c;

		snprintf(name, sizeof(name), "%s%s", path, rotates ? ".0" : "");
		CHECK(close(open(name, O_CREAT | O_RDWR, 0600)) == 0);
		CHECK(pipe(ready) == 0);
		holder = fork();
		CHECK(holder >= 0);
		if (holder == 0) {
			fd = open(name, O_RDONLY | O_CLOEXEC);
			CHECK(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
			CHECK(write(ready[1], "r", 1) == 1);
			inv_sleep_ms(300);
			_exit(0);
		}
		CHECK(read(ready[0], &c, 1) == 1);
		close(ready[0]);
		close(ready[1]);
		build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
		b.ctl->rotate_bytes = rotates ? 1000000 : 0;
		b.ctl->replace = 1;
		pid = start(&b, getpid(), -1);
		build_event(&b.p[0], 10);
		say_closed(&b);
		assert_int_equal(status_of(pid), 0);
		assert_int_equal(status_of(holder), 0);
		build_close(&b);
	}
}

static void put_file(const char *name, const char *text)
{
	int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void files_of_others_with_numbers_are_not_replaced(void **state)
{
	char first[160], foreign[160], empty[160];
	struct ring_build b;
	unsigned i;
	pid_t pid;

	(void)state;
	snprintf(first, sizeof(first), "%s.0", path);
	snprintf(foreign, sizeof(foreign), "%s.1", path);
	snprintf(empty, sizeof(empty), "%s.7", path);
	put_file(foreign, "what a node said, and not ours");
	put_file(empty, "");
	for (i = 0; i < 2; i++) { /* the second log replaces the first */
		build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
		b.ctl->rotate_bytes = 1000000;
		b.ctl->replace = 1;
		pid = start(&b, getpid(), -1);
		say_closed(&b);
		assert_int_equal(status_of(pid), 0);
		assert_true(exists(first) && exists(foreign));
		assert_false(exists(empty));
		build_close(&b);
	}
	/* A file with other contents at this path is an error. */
	put_file(first, "nor is this");
	build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
	b.ctl->rotate_bytes = 1000000;
	b.ctl->replace = 1;
	assert_int_equal(status_of_failed(&b), EEXIST);
	assert_true(exists(first));
	build_close(&b);
}

/* The spooler was killed after it had created the next file of a rotation. It
 * had not noted this yet. So the next spooler finds a file that is not
 * noted. */
static void a_leftover_of_a_rotation_is_removed_at_the_end(void **state)
{
	struct ring_build b;
	char next[160];
	unsigned i;
	pid_t pid;

	(void)state;
	snprintf(next, sizeof(next), "%s.1", path);
	for (i = 0; i < 2; i++) {
		build_open(&b, -1, 1, 8, 4096, INV_KEEP_OLDEST, path);
		b.ctl->rotate_bytes = 1000000;
		b.ctl->replace = 1;
		pid = start(&b, getpid(), -1);
		await_state(&b, INV_SPOOL_RUNNING);
		end_by_kill(pid);
		if (i == 0) {
			char command[400];

			snprintf(command, sizeof(command), "cp '%s.0' '%s'",
				 path, next);
			// NOLINTNEXTLINE(cert-env33-c)
			CHECK(system(command) == 0);
		} else {
			put_file(next, "not ours");
		}
		pid = start(&b, getpid(), -1);
		build_event(&b.p[0], 10);
		say_closed(&b);
		assert_int_equal(status_of(pid), 0);
		assert_int_equal(exists(next), i == 1);
		build_close(&b);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_older_log_is_replaced_on_request),
		TEST(a_log_that_is_being_written_is_not_replaced),
		TEST(a_log_is_replaced_when_its_spooler_has_ended),
		TEST(files_of_others_with_numbers_are_not_replaced),
		TEST(a_leftover_of_a_rotation_is_removed_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
