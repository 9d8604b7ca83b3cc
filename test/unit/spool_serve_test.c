/* SPDX-License-Identifier: Apache-2.0 */

/* The spooler as a process of its own, this test as its VM. */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "spool/clock.h"
#include "spool/loop.h"
#include "spool/watch.h"
#include "unit/log_check.h"

static char dir[64];
static char path[128];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/spool_test.XXXXXX");
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	CHECK(system(command) == 0); // NOLINT(cert-env33-c)
	return 0;
}

/* A spooler of the memory of process vm; its standard input is wake. */
static pid_t start(const struct ring_build *b, pid_t vm, int wake)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		struct inv_serve how = { wake, -1 };
		struct inv_attached mem;
		struct inv_err err;

		if (inv_attach_proc(&mem, vm, b->fd, 5000, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			_exit(3);
		}
		_exit(inv_spool_serve(&mem, &how));
	}
	return pid;
}

static int status_of(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void await_state(struct ring_build *b, enum inv_spool_state state)
{
	unsigned i;

	for (i = 0; i < 5000; i++) {
		if (atomic_load(&b->ctl->spool_state) == state)
			return;
		inv_sleep_ms(1);
	}
	CHECK(!"the spooler gets there");
}

static void flush(struct ring_build *b)
{
	uint64_t n = atomic_fetch_add(&b->ctl->flush_req, 1) + 1;
	unsigned i;

	for (i = 0; i < 5000; i++) {
		if (atomic_load(&b->ctl->flush_done) == n)
			return;
		inv_sleep_ms(1);
	}
	CHECK(!"the flush is answered");
}

static void say_closed(struct ring_build *b)
{
	atomic_store(&b->ctl->state, INV_TRACER_CLOSED);
}

static struct log_check *check_one(void)
{
	static struct log_check c;

	memset(&c, 0, sizeof(c));
	log_check_file(&c, path);
	return &c;
}

static void all_is_in_the_log_after_a_close(void **state)
{
	struct ring_build b;
	struct log_check *c;
	unsigned i;
	pid_t pid;

	(void)state;
	build_open(&b, -1, 2, 8, 4096, INV_KEEP_OLDEST, path);
	pid = start(&b, getpid(), -1);
	await_state(&b, INV_SPOOL_RUNNING);
	for (i = 0; i < 1000; i++) {
		build_event(&b.p[0], i % 50);
		if (i % 3 == 0)
			build_event(&b.p[1], 100);
		if (i % 50 == 0)
			inv_sleep_ms(1);
	}
	atomic_store(&b.ctl->no_ring, 5);
	say_closed(&b);
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(atomic_load(&b.ctl->spool_state), INV_SPOOL_DONE);
	c = check_one();
	log_check_counts(c, 0);
	log_check_counts(c, 1);
	assert_string_equal(c->node, "test@localhost");
	assert_int_equal(c->end, INV_END_CLOSED);
	assert_int_equal(c->ends, 1);
	assert_int_equal(c->s[0].totals.produced, 1000);
	assert_int_equal(c->s[1].totals.produced, 334);
	assert_int_equal(c->no_ring.produced, 5);
	assert_int_equal(c->s[0].missing, 0);
	assert_int_equal(c->s[0].recorded +
				 c->s[0].totals.dropped[INV_LOSS_FULL],
			 1000);
	assert_true(c->anchors >= 1);
	assert_int_equal(c->bytes, atomic_load(&b.ctl->log_bytes));
	build_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_is_in_the_log_after_a_close,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
