/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_PAIRS_H
#define INV_SINK_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Pairs returns with their calls, to tell how long they took.  Bounded: a
 * process has the place that its hash names, which a later one takes over, and
 * of its calls that have not returned the last ones are kept.  What was pushed
 * out has no duration; a wrong one cannot come of it as long as hashes differ.
 */
#define INV_PAIRS_PROCESSES 8192u
#define INV_PAIRS_DEPTH 16u

struct inv_pairs_call {
	uint64_t mfa; /* hash */
	int64_t ts_ns;
};

struct inv_pairs_process {
	uint64_t pid;  /* hash */
	uint32_t top;  /* place of the next call, modulo INV_PAIRS_DEPTH */
	uint32_t kept; /* calls open and not overwritten */
	struct inv_pairs_call calls[INV_PAIRS_DEPTH];
};

struct inv_pairs {
	struct inv_pairs_process *table; /* NULL: nothing is paired */
};

/* INV_ENOMEM. */
int inv_pairs_init(struct inv_pairs *p);
void inv_pairs_release(struct inv_pairs *p);

void inv_pairs_call(struct inv_pairs *p, uint64_t pid, uint64_t mfa,
		    int64_t ts_ns);

/*
 * Whether the call that returns now is known, and how long it took.  Calls made
 * after it that never returned are forgotten.
 */
bool inv_pairs_return(struct inv_pairs *p, uint64_t pid, uint64_t mfa,
		      int64_t ts_ns, int64_t *took_ns);

#endif
