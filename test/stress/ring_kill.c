/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Producer and consumer of one ring are two processes. One of them is killed at
 * its Nth test point, for each N. Each committed event must be read exactly
 * once, or be counted as overwritten. At most one event may be counted as
 * produced without being counted as recorded, overwritten or dropped. The "log"
 * of the consumer is a file with fragments, which are written as they are in
 * memory. The consumer keeps a journal as the spooler does.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "base/testpoint.h"
#include "ring/consumer.h"
#include "ring/journal.h"
#include "unit/ring_build.h"

#ifndef INV_TESTPOINTS
int main(void)
{
	puts("needs MODE=stress");
	return 77;
}
#else

#define N_EVENTS 150u
#define PAD 300u
#define N_NAMES 64

enum role {
	NOBODY,
	PRODUCER,
	CONSUMER
};

/* Memory that the test, the producer and the consumer share. */
struct shared {
	atomic_bool done; /* the producer has ended */
	atomic_uint committed;
	atomic_uint passed[3]; /* test points that each role has passed */
	_Atomic(const char *)
		names[N_NAMES]; /* string literals: same address after fork */
};

struct fragment_head {
	uint64_t first_event;
	uint32_t n_events;
	uint32_t ev_len;
	uint32_t def_len;
	uint32_t pad;
	uint64_t begin_ns;
};

static struct shared *shared;
static enum role role;
static unsigned kill_at; /* 0: never */

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

void inv_testpoint(const char *name)
{
	if (role == NOBODY)
		return;
	if (atomic_fetch_add(&shared->passed[role], 1) + 1 == kill_at) {
		remember(name);
		raise(SIGKILL);
	}
}

static void produce(struct ring_build *b)
{
	struct inv_producer *p = &b->p[0];
	unsigned i;

	for (i = 0; i < N_EVENTS; i++) {
		uint8_t *to = build_reserve(p, PAD), *end;
		uint64_t now;
		uint32_t def;

		inv_testpoint("test.reserved");
		if (!to) {
			usleep(20);
			continue;
		}
		end = build_write(p, to, PAD, &def, &now);
		inv_testpoint("test.half_written");
		memset(end, 0xee, 32); /* unused bytes after the event */
		inv_testpoint("test.written");
		inv_producer_commit(p, (uint32_t)(end - p->data), def, now);
		inv_testpoint("test.committed");
		atomic_fetch_add(&shared->committed, 1);
	}
}

static void put(int fd, const struct inv_fragment *f, struct inv_log_pos *log)
{
	struct fragment_head h = { f->first_event, f->n_events, f->ev_len,
				   f->def_len,	   0,		f->begin_ns };
	uint64_t off = log->off;

	CHECK(pwrite(fd, &h, sizeof(h), (off_t)off) == sizeof(h));
	off += sizeof(h);
	inv_testpoint("test.half_logged");
	CHECK(pwrite(fd, f->def, f->def_len, (off_t)off) == f->def_len);
	off += f->def_len;
	CHECK(pwrite(fd, f->ev, f->ev_len, (off_t)off) == f->ev_len);
	log->off = off + f->ev_len;
	inv_testpoint("test.logged");
}

static void consume(struct ring_build *b, int fd)
{
	struct inv_log_pos log;
	struct inv_fragment f;
	struct inv_consumer c;
	bool last;

	inv_journal_redo(b->ctl, 1);
	inv_log_pos_load(b->ctl, &log);
	CHECK(ftruncate(fd, (off_t)log.off) == 0);
	CHECK(inv_consumer_init(&c, b->ctl, b->len, 0) == 0);
	do {
		uint64_t limit;

		last = atomic_load(&shared->done);
		limit = inv_consumer_top(&c);
		while (!inv_consumer_next(
			&c, limit, INV_TAKE_OPEN | (last ? INV_TAKE_LAST : 0),
			&f)) {
			if (f.n_events > 0)
				put(fd, &f, &log);
			inv_journal_commit(b->ctl, 0, &f.next, &log);
			inv_consumer_advance(&c, &f.next);
			if (f.next.seq == f.seq)
				break;
		}
		inv_consumer_release(&c);
		inv_testpoint("test.released");
		usleep(50);
	} while (!last);
}

/* Starts a process that runs as producer or consumer. */
static pid_t start(struct ring_build *b, int fd, enum role r, unsigned at)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	role = r;
	kill_at = at;
	if (r == PRODUCER)
		produce(b);
	else
		consume(b, fd);
	_exit(0);
}

static void check_log(struct ring_build *b, int fd)
{
	const struct inv_ring_head *ring = inv_layout_ring(b->ctl, 0);
	uint64_t off = 0, end = atomic_load(&b->ctl->log_off), next = 0;
	uint64_t gaps = 0, recorded = 0;
	static uint8_t buf[8192];
	struct fragment_head h;

	while (off < end) {
		CHECK(pread(fd, &h, sizeof(h), (off_t)off) == sizeof(h));
		off += sizeof(h);
		CHECK(h.def_len + h.ev_len <= sizeof(buf));
		CHECK(pread(fd, buf, h.def_len + h.ev_len, (off_t)off) ==
		      (ssize_t)(h.def_len + h.ev_len));
		off += h.def_len + h.ev_len;
		CHECK(h.first_event >= next); /* no event is read twice */
		gaps += h.first_event - next;
		CHECK(build_sound(buf + h.def_len, h.ev_len, h.first_event,
				  h.n_events, buf, h.def_len, h.begin_ns));
		next = h.first_event + h.n_events;
		recorded += h.n_events;
	}
	CHECK(off == end);
	CHECK(recorded == ring->recorded);
	CHECK(gaps == ring->overwritten && ring->damaged == 0);
	CHECK(b->ctl->keep == INV_KEEP_NEWEST ||
	      gaps == 0); /* no event is skipped */
}

static void check_counts(struct ring_build *b, enum role killed)
{
	const struct inv_ring_head *ring = inv_layout_ring(b->ctl, 0);
	uint64_t taken = ring->recorded + ring->overwritten;
	uint64_t sum = taken + ring->dropped[INV_LOSS_FULL];
	unsigned committed = atomic_load(&shared->committed);

	if (killed == PRODUCER) {
		CHECK(taken == committed || taken == committed + 1);
		CHECK(ring->produced == sum || ring->produced == sum + 1);
	} else {
		CHECK(taken == committed);
		CHECK(ring->produced == sum && ring->produced == N_EVENTS);
	}
}

/* Kills one of the processes at its test point number `at'. Returns true if the
 * process reached this test point. */
static bool run(enum inv_keep keep, enum role who, unsigned at)
{
	char name[] = "/tmp/ring_kill.XXXXXX";
	int fd = mkstemp(name), status;
	pid_t producer, consumer;
	struct ring_build b;
	bool killed = false;

	CHECK(fd >= 0);
	unlink(name);
	atomic_store(&shared->done, false);
	atomic_store(&shared->committed, 0);
	atomic_store(&shared->passed[PRODUCER], 0);
	atomic_store(&shared->passed[CONSUMER], 0);
	build_open(&b, -1, 1, 4, 4096, keep, "/nowhere");
	consumer = start(&b, fd, CONSUMER, who == CONSUMER ? at : 0);
	producer = start(&b, fd, PRODUCER, who == PRODUCER ? at : 0);
	CHECK(waitpid(producer, &status, 0) == producer);
	killed = WIFSIGNALED(status);
	CHECK(status == 0 || WTERMSIG(status) == SIGKILL);
	atomic_store(&shared->done, true);
	CHECK(waitpid(consumer, &status, 0) == consumer);
	CHECK(status == 0 || WTERMSIG(status) == SIGKILL);
	if (status != 0) {
		killed = true;
		consumer = start(&b, fd, CONSUMER, 0);
		CHECK(waitpid(consumer, &status, 0) == consumer);
		CHECK(status == 0);
	}
	check_log(&b, fd);
	check_counts(&b, killed ? who : NOBODY);
	build_close(&b);
	close(fd);
	return killed;
}

static unsigned run_all(enum inv_keep keep, enum role who, unsigned max)
{
	unsigned at;

	for (at = 1; at <= max; at++)
		if (!run(keep, who, at))
			break;
	return at - 1;
}

int main(void)
{
	unsigned i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	for (i = 0; i < 2; i++) {
		enum inv_keep keep = i ? INV_KEEP_NEWEST : INV_KEEP_OLDEST;
		unsigned p = run_all(keep, PRODUCER, 200);
		unsigned c = run_all(keep, CONSUMER, 200);

		printf("keep %u: %u kills of the producer, %u of the "
		       "consumer\n",
		       keep, p, c);
		CHECK(p > 100 && c > 20);
	}
	printf("killed at:");
	for (i = 0; i < N_NAMES && shared->names[i]; i++)
		printf(" %s", shared->names[i]);
	printf("\n");
	return 0;
}
#endif
