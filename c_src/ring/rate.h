/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_RATE_H
#define INV_RING_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A limit of n events a second, which any number of threads use up in leases.
 *
 * A lease is given when the one that was given `slots' leases before it is more
 * than a second old; any `slots' leases in a row are n events together.  So the
 * leases of any second, wherever it begins, are n events at most, and n events
 * that come at once, after a quiet second, are all let through.  What a thread
 * had left of a lease when a second began comes on top: at most
 * inv_rate_lease_max() for each thread.
 *
 * No lock, and no clock but the caller's.
 */
#define INV_RATE_SLOTS_MAX 1024u
#define INV_RATE_MAX UINT32_MAX

struct inv_rate {
	_Atomic uint64_t next; /* number of the next lease, from 0 */
	uint32_t n;	       /* events a second */
	uint32_t slots;	       /* leases a second */
	_Atomic bool reached;  /* a lease was refused */
	_Atomic uint64_t given[INV_RATE_SLOTS_MAX]; /* see rate.c */
};

/* n: from 1 to INV_RATE_MAX.  now, here and below: monotonic nanoseconds. */
void inv_rate_init(struct inv_rate *r, uint32_t n, uint64_t now);

/* Takes a lease: so many events, 0 if there is none to be had now. */
uint32_t inv_rate_lease(struct inv_rate *r, uint64_t now);

/* The largest lease that there is. */
uint32_t inv_rate_lease_max(const struct inv_rate *r);

#endif
