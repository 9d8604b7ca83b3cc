/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Several producers and one consumer share the large slots. They are threads of
 * one process, so that ThreadSanitizer checks all of them. No two threads may
 * use a slot at the same time, and each lost event must be counted.
 */
#include <pthread.h>
#include <stdbool.h>

#include "ring/consumer.h"
#include "ring/journal.h"
#include "unit/ring_build.h"

#ifdef __SANITIZE_THREAD__
#define N_EVENTS 20000u
#else
#define N_EVENTS 100000u
#endif
#define N_RINGS 3u

struct ring_run {
	struct run *run;
	uint32_t index;
	uint64_t next;
	uint64_t gaps;
	uint64_t large;
};

struct run {
	struct ring_build b;
	struct ring_run rings[N_RINGS];
	atomic_uint done;
	uint64_t unsound;
	uint64_t again;
};

static unsigned random_of(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

static void *produce(void *arg)
{
	struct ring_run *r = arg;
	struct inv_producer *p = &r->run->b.p[r->index];
	unsigned seed = r->index + 1, i;

	for (i = 0; i < N_EVENTS; i++) {
		if (random_of(&seed) % 4 == 0)
			build_large_event(p, 4000 + random_of(&seed) % 9000);
		else
			build_event(p, random_of(&seed) % 60);
		if (random_of(&seed) % 1000 == 0)
			usleep(300);
	}
	atomic_fetch_add(&r->run->done, 1);
	return NULL;
}

static void look_at(struct ring_run *r, const struct inv_fragment *f,
		    unsigned *seed)
{
	struct run *run = r->run;

	if (f->n_events == 0)
		return;
	/* From time to time the consumer is slow while it reads a packet. */
	if (random_of(seed) % 64 == 0)
		usleep(100);
	if (f->first_event < r->next)
		run->again++;
	else
		r->gaps += f->first_event - r->next;
	if (!build_sound(f->ev, f->ev_len, f->first_event, f->n_events, f->def,
			 f->def_len, f->begin_ns))
		run->unsound++;
	r->large += f->ev_len >= 4000 && f->n_events == 1;
	r->next = f->first_event + f->n_events;
}

static void drain(struct run *run, struct inv_consumer *c, uint32_t i,
		  unsigned *seed)
{
	struct inv_log_pos log = { 0 };
	uint64_t limit = inv_consumer_top(c);
	struct inv_fragment f;

	while (!inv_consumer_next(c, limit, INV_TAKE_OPEN, &f)) {
		look_at(&run->rings[i], &f, seed);
		inv_journal_commit(run->b.ctl, i, &f.next, &log);
		inv_consumer_advance(c, &f.next);
		if (f.next.seq == f.seq)
			break;
	}
	inv_consumer_release(c);
}

static void *consume(void *arg)
{
	struct run *run = arg;
	struct inv_consumer c[N_RINGS];
	unsigned seed = 9;
	uint32_t i;
	bool last;

	for (i = 0; i < N_RINGS; i++)
		if (inv_consumer_init(&c[i], run->b.ctl, run->b.len, i) < 0)
			run->unsound++;
	do {
		last = atomic_load(&run->done) == N_RINGS;
		for (i = 0; i < N_RINGS; i++)
			drain(run, &c[i], i, &seed);
		if (random_of(&seed) % 8 == 0)
			usleep(random_of(&seed) % 400);
	} while (!last);
	return NULL;
}

static void check_ring(const struct run *run, uint32_t i, enum inv_keep keep)
{
	const struct inv_ring_head *ring = inv_layout_ring(run->b.ctl, i);
	const struct ring_run *r = &run->rings[i];
	uint64_t dropped = ring->dropped[INV_LOSS_FULL];

	printf("keep %d, ring %u: %llu recorded (%llu large), %llu dropped, "
	       "%llu overwritten\n",
	       keep, i, (unsigned long long)ring->recorded,
	       (unsigned long long)r->large, (unsigned long long)dropped,
	       (unsigned long long)ring->overwritten);
	CHECK(ring->damaged == 0);
	/* The consumer has not seen the events that were overwritten after the
	 * last event that it read. So the gaps do not include these events. */
	CHECK(r->gaps <= ring->overwritten);
	CHECK(keep == INV_KEEP_NEWEST || ring->overwritten == 0);
	CHECK(ring->produced == N_EVENTS);
	CHECK(ring->recorded + dropped + ring->overwritten == N_EVENTS);
}

static void run_once(enum inv_keep keep, uint32_t n_large)
{
	static struct run run;
	pthread_t producers[N_RINGS], consumer;
	uint64_t large = 0;
	uint32_t i;

	memset(&run, 0, sizeof(run));
	build_n_large = n_large;
	build_open(&run.b, -1, N_RINGS, 16, 4096, keep, "/nowhere");
	CHECK(!pthread_create(&consumer, NULL, consume, &run));
	for (i = 0; i < N_RINGS; i++) {
		run.rings[i].run = &run;
		run.rings[i].index = i;
		CHECK(!pthread_create(&producers[i], NULL, produce,
				      &run.rings[i]));
	}
	for (i = 0; i < N_RINGS; i++)
		pthread_join(producers[i], NULL);
	pthread_join(consumer, NULL);
	CHECK(run.unsound == 0 && run.again == 0);
	for (i = 0; i < N_RINGS; i++) {
		check_ring(&run, i, keep);
		large += run.rings[i].large;
	}
	CHECK(large > 0);
	build_close(&run.b);
}

/* --- a large event is committed while the consumer looks at its packet --- */

static struct inv_producer *late; /* its open packet has no event yet */
static int late_slot;
static uint64_t late_ns;

void inv_testpoint(const char *name);
void inv_testpoint(const char *name)
{
	struct inv_producer *p = late;

	if (!p || strcmp(name, "ring.held") != 0)
		return;
	late = NULL;
	build_large_commit(p, late_slot, 5000, late_ns);
}

static void take(struct run *run, struct inv_consumer *c, uint64_t first)
{
	struct inv_fragment f;

	CHECK(!inv_consumer_next(c, inv_consumer_top(c), INV_TAKE_OPEN, &f));
	CHECK(f.n_events == 1 && f.first_event == first);
	inv_journal_commit(run->b.ctl, 0, &f.next, &(struct inv_log_pos){ 0 });
	inv_consumer_advance(c, &f.next);
	inv_consumer_release(c);
}

/* The consumer begins to read an open packet, which has no event yet. Then the
 * producer commits a large event to this packet. */
static void commit_late(void)
{
	static struct run run;
	struct inv_producer *p = run.b.p;
	struct inv_consumer c;

	build_n_large = 1;
	build_open(&run.b, -1, 1, 16, 4096, INV_KEEP_NEWEST, "/nowhere");
	CHECK(inv_consumer_init(&c, run.b.ctl, run.b.len, 0) >= 0);
	late_ns = build_now();
	inv_producer_offer(p);
	CHECK(!inv_producer_open_new(p, late_ns));
	late_slot = inv_producer_claim(p);
	CHECK(late_slot >= 0);
	late = p;
	take(&run, &c, 0);
	CHECK(!late);
	/* The consumer has read the complete packet, and its position is after
	 * it. */
	CHECK(c.pos.seq == p->seq + 1);
	CHECK(build_event(p, 9));
	take(&run, &c, 1);
	build_close(&run.b);
}

int main(void)
{
	commit_late();
	run_once(INV_KEEP_OLDEST, 1);
	run_once(INV_KEEP_OLDEST, 4);
	run_once(INV_KEEP_NEWEST, 1);
	run_once(INV_KEEP_NEWEST, 2);
	run_once(INV_KEEP_NEWEST, 4);
	return 0;
}
