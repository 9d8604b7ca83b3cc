/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_PAIRS_H
#define INV_SINK_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Matches returns with their calls to compute durations. Memory is bounded. The
 * hash of a process selects its table entry; a later process with the same
 * entry replaces the earlier one. An entry has only the latest open calls. The
 * return of a call that is not in the table has no duration. A return cannot
 * get the duration of another call, unless two hashes collide.
 */
#define INV_PAIRS_PROCESSES 8192u
#define INV_PAIRS_DEPTH 16u

struct inv_pairs_call {
	uint64_t mfa; /* hash of module, function and arity */
	int64_t ts_ns;
};

struct inv_pairs_process {
	uint64_t pid;  /* hash of the process identifier */
	uint32_t top;  /* index of the next call, modulo INV_PAIRS_DEPTH */
	uint32_t kept; /* open calls that are not overwritten yet */
	struct inv_pairs_call calls[INV_PAIRS_DEPTH];
};

struct inv_pairs {
	struct inv_pairs_process *table; /* NULL: durations are not computed */
};

/* Returns 0 or INV_ENOMEM. */
int inv_pairs_init(struct inv_pairs *p);
void inv_pairs_release(struct inv_pairs *p);

void inv_pairs_call(struct inv_pairs *p, uint64_t pid, uint64_t mfa,
		    int64_t ts_ns);

/*
 * If the call that returns is in the table, sets *took_ns to its duration and
 * returns true. Removes this call, and later calls of the process, because
 * these never returned.
 */
bool inv_pairs_return(struct inv_pairs *p, uint64_t pid, uint64_t mfa,
		      int64_t ts_ns, int64_t *took_ns);

#endif
