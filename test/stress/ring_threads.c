/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Producer and consumer of one ring are two threads of one process, so that
 * ThreadSanitizer checks both. The ring keeps the oldest or the newest events,
 * and the consumer is faster or slower than the producer. No event may be read
 * twice, and each lost event must be counted.
 */
#include <pthread.h>
#include <stdbool.h>

#include "ring/consumer.h"
#include "ring/journal.h"
#include "unit/ring_build.h"

#ifdef __SANITIZE_THREAD__
#define N_EVENTS 150000u
#else
#define N_EVENTS 1000000u
#endif

struct run {
	struct ring_build b;
	atomic_bool done;
	/* The consumer's results. Another thread reads them only after the
	 * consumer has ended. */
	uint64_t next;
	uint64_t unsound;
	uint64_t again;
	uint64_t gaps;
	uint64_t fragments;
};

static unsigned random_of(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

static void *produce(void *arg)
{
	struct run *r = arg;
	unsigned seed = 1, i;

	for (i = 0; i < N_EVENTS; i++) {
		build_event(&r->b.p[0], random_of(&seed) % 60);
		if (random_of(&seed) % 5000 == 0)
			usleep(300);
	}
	atomic_store(&r->done, true);
	return NULL;
}

static void look_at(struct run *r, const struct inv_fragment *f)
{
	if (f->n_events == 0)
		return;
	/* From time to time the consumer is slow while it reads a packet. */
	if (r->fragments++ % 64 == 0)
		usleep(300);
	if (f->first_event < r->next)
		r->again++;
	else
		r->gaps += f->first_event - r->next;
	if (!build_sound(f->ev, f->ev_len, f->first_event, f->n_events, f->def,
			 f->def_len, f->begin_ns))
		r->unsound++;
	r->next = f->first_event + f->n_events;
}

static void *consume(void *arg)
{
	struct run *r = arg;
	struct inv_log_pos log = { 0 };
	struct inv_fragment f;
	struct inv_consumer c;
	unsigned seed = 2;
	bool last;

	if (inv_consumer_init(&c, r->b.ctl, r->b.len, 0) < 0)
		r->unsound++;
	do {
		uint64_t limit;

		last = atomic_load(&r->done);
		limit = inv_consumer_top(&c);
		while (!inv_consumer_next(&c, limit, INV_TAKE_OPEN, &f)) {
			look_at(r, &f);
			inv_journal_commit(r->b.ctl, 0, &f.next, &log);
			inv_consumer_advance(&c, &f.next);
			if (f.next.seq == f.seq)
				break;
		}
		inv_consumer_release(&c);
		if (random_of(&seed) % 8 == 0)
			usleep(random_of(&seed) % 400);
	} while (!last);
	return NULL;
}

static void run(enum inv_keep keep, uint32_t n_slots)
{
	static struct run r;
	struct inv_ring_head *ring;
	pthread_t producer, consumer;
	uint64_t dropped;

	memset(&r, 0, sizeof(r));
	build_open(&r.b, -1, 1, n_slots, 4096, keep, "/nowhere");
	CHECK(!pthread_create(&consumer, NULL, consume, &r));
	CHECK(!pthread_create(&producer, NULL, produce, &r));
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	ring = inv_layout_ring(r.b.ctl, 0);
	dropped = ring->dropped[INV_LOSS_FULL];
	printf("keep %d, %u slots: %llu fragments, %llu recorded, %llu dropped, "
	       "%llu overwritten\n",
	       keep, n_slots, (unsigned long long)r.fragments,
	       (unsigned long long)ring->recorded, (unsigned long long)dropped,
	       (unsigned long long)ring->overwritten);
	CHECK(r.unsound == 0 && r.again == 0);
	CHECK(r.gaps == ring->overwritten && ring->damaged == 0);
	CHECK(keep == INV_KEEP_NEWEST ? dropped == 0 : r.gaps == 0);
	CHECK(ring->produced == N_EVENTS);
	CHECK(ring->recorded + dropped + ring->overwritten == N_EVENTS);
	CHECK(ring->recorded > 0);
	build_close(&r.b);
}

int main(void)
{
	run(INV_KEEP_OLDEST, 4);
	run(INV_KEEP_OLDEST, 64);
	run(INV_KEEP_NEWEST, 4);
	run(INV_KEEP_NEWEST, 5);
	run(INV_KEEP_NEWEST, 64);
	return 0;
}
