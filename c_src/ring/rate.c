/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/rate.h"

/*
 * A lease has at most this many events if the limit is at most
 * INV_RATE_SLOTS_MAX times LEASE_EVENTS events a second. Higher limits have
 * larger leases.
 */
#define LEASE_EVENTS 32u
#define SLOTS_MIN 16u

/*
 * Leases are numbered from 0. Lease number N is taken by a compare-and-swap of
 * the word given[N % slots]. The word's upper bits are the time at which the
 * lease was taken, in units of 1024 ns. Its low 8 bits are the lease's round,
 * N / slots modulo 256. From the round, other threads see that lease N is
 * already taken.
 *
 * A thread may be preempted between taking a lease and incrementing `next'.
 * Then another thread increments `next'.
 */
#define ROUND_BITS 8
#define ROUND_MASK 0xffu
#define UNIT_SHIFT 10
/* A second in units of 2^UNIT_SHIFT ns. Two units are added, because
 * second_passed() compares SECOND with the difference of two times that were
 * rounded down. */
#define SECOND ((uint64_t)(1000000000u >> UNIT_SHIFT) + 2)

static uint64_t word(uint64_t units, uint64_t round)
{
	return units << ROUND_BITS | (round & ROUND_MASK);
}

/*
 * Returns true if `now' is more than a second after `then'. `then' may even be
 * later than `now', because a thread reads the clock before it calls
 * inv_rate_lease, and another thread may store a later time meanwhile.
 */
static bool second_passed(uint64_t then, uint64_t now)
{
	int64_t age = (int64_t)(word(now >> UNIT_SHIFT, 0) -
				(then & ~(uint64_t)ROUND_MASK));

	return age >= (int64_t)(SECOND << ROUND_BITS);
}

void inv_rate_init(struct inv_rate *r, uint32_t n, uint64_t now)
{
	uint32_t i;

	r->n = n;
	r->slots = n / LEASE_EVENTS + (n % LEASE_EVENTS > 0);
	if (r->slots < SLOTS_MIN)
		r->slots = n < SLOTS_MIN ? n : SLOTS_MIN;
	if (r->slots > INV_RATE_SLOTS_MAX)
		r->slots = INV_RATE_SLOTS_MAX;
	atomic_store(&r->next, 0);
	atomic_store(&r->reached, false);
	for (i = 0; i < r->slots; i++)
		atomic_store(&r->given[i],
			     word((now >> UNIT_SHIFT) - SECOND, ROUND_MASK));
}

/* Returns the number of events in lease i of the `slots' leases of a second.
 * The leases differ by at most one event. */
static uint32_t share(const struct inv_rate *r, uint32_t i)
{
	return (uint32_t)(((uint64_t)r->n * (i + 1)) / r->slots -
			  ((uint64_t)r->n * i) / r->slots);
}

uint32_t inv_rate_lease_max(const struct inv_rate *r)
{
	return (uint32_t)(((uint64_t)r->n + r->slots - 1) / r->slots);
}

uint32_t inv_rate_lease(struct inv_rate *r, uint64_t now)
{
	for (;;) {
		uint64_t number =
			atomic_load_explicit(&r->next, memory_order_acquire);
		uint64_t round = number / r->slots;
		uint32_t i = (uint32_t)(number % r->slots);
		uint64_t then = atomic_load_explicit(&r->given[i],
						     memory_order_acquire);
		bool ours = false;

		if (((then ^ round) & ROUND_MASK) != 0) {
			if (!second_passed(then, now))
				break;
			ours = atomic_compare_exchange_strong(
				&r->given[i], &then,
				word(now >> UNIT_SHIFT, round));
		}
		/* The lease is taken, by this thread or by another. Go to the
		 * next number. */
		atomic_compare_exchange_strong(&r->next, &number, number + 1);
		if (ours)
			return share(r, i);
	}
	/* All threads read the cache line that has `reached', so write it only
	 * if the value changes. */
	if (!atomic_load_explicit(&r->reached, memory_order_relaxed))
		atomic_store_explicit(&r->reached, true, memory_order_relaxed);
	return 0;
}
