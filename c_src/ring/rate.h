/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_RATE_H
#define INV_RING_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A limit of n events a second, shared by all threads of a tracer. A thread
 * takes a lease: the right to record a number of events without access to the
 * shared counter.
 *
 * In one second, threads get at most `slots' leases, which have n events
 * together: a thread gets lease number i only if lease number i - slots is more
 * than a second old. After a second without events, n events can be recorded at
 * once. In addition, each thread may use the rest of a lease from an earlier
 * second: at most inv_rate_lease_max() events.
 *
 * The functions use no lock, and read no clock: the caller passes the time.
 */
#define INV_RATE_SLOTS_MAX 1024u
#define INV_RATE_MAX UINT32_MAX

struct inv_rate {
	_Atomic uint64_t next; /* number of the next lease, from 0 */
	uint32_t n;	       /* how many events a second are allowed */
	uint32_t slots;	       /* how many leases a second; together the leases
				  have n events */
	_Atomic bool reached;  /* a lease was refused: there were more events
				  than allowed */
	_Atomic uint64_t given[INV_RATE_SLOTS_MAX]; /* time and round of each
						       of the last leases, in
						       one word (rate.c) */
};

/* `n' is from 1 to INV_RATE_MAX. Here and below, `now' is in monotonic
 * nanoseconds. */
void inv_rate_init(struct inv_rate *r, uint32_t n, uint64_t now);

/* Takes a lease. Returns the number of events in the lease, or 0 if no lease is
 * available now. */
uint32_t inv_rate_lease(struct inv_rate *r, uint64_t now);

/* Returns the number of events in the largest lease. */
uint32_t inv_rate_lease_max(const struct inv_rate *r);

#endif
