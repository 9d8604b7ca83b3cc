/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A producer floods two rings, and the spooler is killed again and again: at
 * random times and, with MODE=stress, at each of its test points. Each time
 * another spooler continues. At the end the log must have each event exactly
 * once, except the events that were counted as lost. The log is compressed and
 * rotated, so that the spooler is also killed during these steps.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/testpoint.h"
#include "spool/loop.h"
#include "unit/log_check.h"

#define N_NAMES 64

struct shared {
	atomic_uint passed;
	_Atomic(const char *) names[N_NAMES];
};

static struct shared *shared;
static unsigned kill_at; /* 0: never */
static int wake[2];
static char dir[64];
static char path[128];

static void remember(const char *name)
{
	unsigned i;

	for (i = 0; i < N_NAMES; i++) {
		const char *was = NULL;

		if (atomic_compare_exchange_strong(&shared->names[i], &was,
						   name) ||
		    strcmp(was, name) == 0)
			return;
	}
}

#ifdef INV_TESTPOINTS
void inv_testpoint(const char *name)
{
	if (kill_at && atomic_fetch_add(&shared->passed, 1) + 1 == kill_at) {
		remember(name);
		raise(SIGKILL);
	}
}
#endif

static pid_t start(const struct ring_build *b, unsigned at)
{
	pid_t vm = getpid(), pid = fork();
	struct inv_serve how = { wake[0], -1 };
	struct inv_attached mem;
	struct inv_err err;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	kill_at = at;
	if (inv_attach_proc(&mem, vm, b->fd, 60000, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		_exit(3);
	}
	_exit(inv_spool_serve(&mem, &how));
}

static void open_rings(struct ring_build *b, enum inv_keep keep)
{
	/* The rings are too small for all events, and the producer does not
	 * wait for the spooler, so events are lost. */
	build_n_large = 2;
	build_large_bytes = 32768;
	build_open(b, -1, 2, 8, 4096, keep, path);
	b->ctl->codec = INV_CODEC_ZSTD;
	b->ctl->rotate_bytes = 8000;
	b->ctl->drain_ms = 1;
	b->ctl->flush_ms = 3;
}

static void check(struct ring_build *b, uint64_t produced)
{
	static struct log_check c;
	uint32_t i, file;
	char name[160];

	memset(&c, 0, sizeof(c));
	for (file = 0; file <= b->ctl->log_file; file++) {
		snprintf(name, sizeof(name), "%s.%u", path, file);
		log_check_file(&c, name);
		CHECK(c.head.file_no == file);
	}
	for (i = 0; i < 2; i++) {
		log_check_counts(&c, i);
		CHECK(c.s[i].totals.produced == produced);
		CHECK(c.s[i].totals.dropped[INV_LOSS_DAMAGED] == 0);
		CHECK(c.s[i].totals.dropped[INV_LOSS_UNFINISHED] == 0);
		CHECK(c.s[i].missing ==
		      c.s[i].totals.dropped[INV_LOSS_OVERWRITTEN]);
	}
	CHECK(c.end == INV_END_CLOSED);
	CHECK(c.bytes == b->ctl->log_bytes);
}

static void remove_logs(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -f '%s'/*", dir);
	CHECK(system(command) == 0); // NOLINT(cert-env33-c)
}

/* Closes the tracer, so that the last spooler completes the log. Then checks
 * the counts. */
static void close_rings(struct ring_build *b, pid_t pid, uint64_t produced)
{
	int status;

	atomic_store(&b->ctl->state, INV_TRACER_CLOSED);
	CHECK(write(wake[1], "x", 1) == 1);
	for (;;) {
		CHECK(waitpid(pid, &status, 0) == pid);
		if (status == 0)
			break;
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		pid = start(b, 0);
	}
	CHECK(atomic_load(&b->ctl->spool_state) == INV_SPOOL_DONE);
	check(b, produced);
	build_close(b);
	remove_logs();
}

/* Returns the seed for random numbers. Prints it, so that a run can be
 * repeated. */
static unsigned seed_of_run(void)
{
	const char *given = getenv("INVISO_SEED"); // NOLINT
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 7;

	printf("INVISO_SEED=%u\n", seed);
	return seed;
}

/* Kills the spooler `kills' times, at random times. `make soak' kills it ten
 * times as often. */
static void by_time(enum inv_keep keep, unsigned kills)
{
	uint64_t n = 0, next_kill = 0;
	struct ring_build b;
	unsigned seed = seed_of_run();
	int status;
	pid_t pid;

	open_rings(&b, keep);
	pid = start(&b, 0);
	while (kills > 0) {
		if (n % 40 == 0)
			build_large_event(&b.p[0], 6000 + (unsigned)(n % 9000));
		else
			build_event(&b.p[0], (unsigned)(n % 90));
		build_event(&b.p[1], (unsigned)(n % 31));
		n++;
		if (n % 64 == 0)
			usleep(60);
		if (n % 1000 == 0)
			atomic_fetch_add(&b.ctl->flush_req, 1);
		if (build_now() < next_kill)
			continue;
		build_anchor(&b, (int64_t)n);
		if (next_kill > 0) {
			kill(pid, SIGKILL);
			CHECK(waitpid(pid, &status, 0) == pid);
			CHECK(WIFSIGNALED(status));
			pid = start(&b, 0);
			kills--;
		}
		seed = seed * 1103515245u + 12345u;
		next_kill = build_now() + (seed >> 16) % 8000 * 1000u;
	}
	close_rings(&b, pid, n);
}

#ifdef INV_TESTPOINTS
/* Kills the spooler at its test point number `at'. If the spoolers passed fewer
 * test points than `at', returns false. */
static bool by_step(enum inv_keep keep, unsigned at)
{
	struct ring_build b;
	unsigned i, respawns;
	pid_t pid;

	atomic_store(&shared->passed, 0);
	open_rings(&b, keep);
	b.ctl->rotate_bytes = 2000;
	b.ctl->rotate_count = 0;
	pid = start(&b, at);
	for (i = 0; i < 300; i++) {
		if (i % 20 == 7)
			build_large_event(&b.p[0], 6000);
		else
			build_event(&b.p[0], 40);
		build_event(&b.p[1], i % 200);
		if (i % 10 == 0)
			usleep(100);
		if (i % 50 == 0)
			atomic_fetch_add(&b.ctl->flush_req, 1);
	}
	close_rings(&b, pid, i);
	respawns = atomic_load(&shared->passed);
	return respawns >= at;
}
#endif

int main(void)
{
	unsigned i, times;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	snprintf(dir, sizeof(dir), "/tmp/spool_kill.XXXXXX");
	CHECK(mkdtemp(dir) && pipe(wake) == 0);
	snprintf(path, sizeof(path), "%s/log", dir);
	times = getenv("INVISO_SOAK") ? 10 : 1; // NOLINT
	by_time(INV_KEEP_OLDEST, 300 * times);
	by_time(INV_KEEP_NEWEST, 100 * times);
#ifdef INV_TESTPOINTS
	for (i = 1; i < 300 && by_step(INV_KEEP_OLDEST, i); i++)
		;
	printf("oldest: killed at %u steps\n", i - 1);
	for (i = 1; i < 120 && by_step(INV_KEEP_NEWEST, i); i++)
		;
	printf("newest: killed at %u steps\n", i - 1);
#endif
	printf("killed at:");
	for (i = 0; i < N_NAMES && shared->names[i]; i++)
		printf(" %s", shared->names[i]);
	printf("\n");
	(void)remember;
	return rmdir(dir) == 0 ? 0 : 1;
}
