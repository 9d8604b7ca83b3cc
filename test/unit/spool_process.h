/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_UNIT_SPOOL_PROCESS_H
#define INV_UNIT_SPOOL_PROCESS_H

/* Runs a spooler as a separate process, with a log in a new directory. */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "spool/loop.h"
#include "unit/log_check.h"

static char dir[64];
static char path[128];

static inline int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/spool_test.XXXXXX");
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	return 0;
}

static inline int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	CHECK(system(command) == 0); // NOLINT(cert-env33-c)
	return 0;
}

#define PATIENCE_MS 60000u

/* Starts a spooler for the rings of process vm. Its standard input is
 * `wake'. */
static inline pid_t start(const struct ring_build *b, pid_t vm, int wake)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		struct inv_serve how = { wake, -1 };
		struct inv_attached mem;
		struct inv_err err;

		if (inv_attach_proc(&mem, vm, b->fd, 60000, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			_exit(3);
		}
		_exit(inv_spool_serve(&mem, &how));
	}
	return pid;
}

static inline int status_of(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline void await_state(struct ring_build *b, enum inv_spool_state state)
{
	unsigned i;

	for (i = 0; i < PATIENCE_MS; i++) {
		if (atomic_load(&b->ctl->spool_state) == state)
			return;
		inv_sleep_ms(1);
	}
	CHECK(!"the spooler gets there");
}

static inline bool exists(const char *name)
{
	return access(name, F_OK) == 0;
}

static inline void end_by_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	status_of(pid);
}

/* Runs a spooler that must fail. Returns the errno that it reports. */
static inline int status_of_failed(struct ring_build *b)
{
	pid_t pid = start(b, getpid(), -1);

	CHECK(status_of(pid) == 1);
	CHECK(atomic_load(&b->ctl->spool_state) == INV_SPOOL_FAILED);
	CHECK(strlen(b->ctl->error_text) > 0);
	return atomic_load(&b->ctl->error);
}

static inline void flush(struct ring_build *b)
{
	uint64_t n = atomic_fetch_add(&b->ctl->flush_req, 1) + 1;
	unsigned i;

	for (i = 0; i < PATIENCE_MS; i++) {
		if (atomic_load(&b->ctl->flush_done) == n)
			return;
		inv_sleep_ms(1);
	}
	CHECK(!"the flush is answered");
}

static inline void say_closed(struct ring_build *b)
{
	atomic_store(&b->ctl->state, INV_TRACER_CLOSED);
}

static inline struct log_check *check_one(void)
{
	static struct log_check c;

	memset(&c, 0, sizeof(c));
	log_check_file(&c, path);
	return &c;
}

#endif
