/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TOP_SPEEDS_H
#define INV_TOP_SPEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/ranking.h"

/*
 * Counts that grow, and how fast they grow. An entry is a copy of a row of a
 * ranking (flow/ranking.h). Its speed is computed from the count that it had at
 * the previous call of inv_speeds_take.
 */
struct inv_speed_entry;

struct inv_speed {
	char *key;	  /* "shop:pay/2", "<0.9.0>"; "": others */
	char *name;	  /* the process's name or the function's text */
	const char *node; /* NULL: the entry is the sum over several nodes */
	bool others;	  /* the entry is for all keys for which the ranking had
			     no room */
	uint64_t n, unpaired;
	double speed; /* in a second; -1: unknown */
	bool timed;
	uint64_t min, max, sum, quantiles[INV_QUANTILES];
};

struct inv_speeds {
	/* private */
	struct inv_speed_entry *entries; /* hash table */
	uint64_t ms;			 /* the clock of the counts */
};

/*
 * Updates the entries from the counts in r. The nodes' clock showed the time ms
 * when they had these counts. If this clock has not advanced, speeds do not
 * change. Returns 0 or INV_ENOMEM.
 */
int inv_speeds_take(struct inv_speeds *s, const struct inv_ranking *r,
		    const struct inv_flow *flow, uint64_t ms);
void inv_speeds_release(struct inv_speeds *s);

size_t inv_speeds_n(const struct inv_speeds *s);
/* Returns the entry after `entry', or the first entry if `entry' is NULL.
 * Returns NULL after the last entry. Entries are valid until
 * inv_speeds_release. */
const struct inv_speed *inv_speeds_next(const struct inv_speeds *s,
					const struct inv_speed *entry);
const struct inv_speed *inv_speeds_find(const struct inv_speeds *s,
					const char *node, const char *key);

#endif
