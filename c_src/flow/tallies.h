/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_TALLIES_H
#define INV_FLOW_TALLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/histogram.h"
#include "log/item.h"

/*
 * The counts in the logs of sessions that count events (INV_NOTE_COUNT in
 * abi/event.h), and the histograms in the logs of sessions that time calls or
 * measure values (INV_NOTE_TIMES, INV_NOTE_BUCKETS, INV_NOTE_MEASURE). A later
 * count replaces an earlier count of the same key on the same node.
 * flow/ranking.h adds up the counts of several nodes, and sorts them.
 */
struct inv_tally_entry;
struct inv_tally_measure;

struct inv_tallies {
	/* private */
	struct inv_tally_entry *entries; /* hash table */
	struct inv_tally_measure *measures;
	struct inv_cursor *cursor;
	bool timed;
};

/* What one node has counted for one key, such as a function or a process. */
struct inv_tallied {
	const struct inv_node *node;
	const char *key; /* as Erlang prints it; empty for INV_COUNT_TOTAL,
			    INV_COUNT_OTHERS and INV_COUNT_FAILED */
	uint64_t n;
	struct inv_histogram *times; /* NULL: calls were counted, not timed */
	const char *measure;	     /* the histogram has the values of this
				expression; NULL: times, in ns */
	enum inv_count_of of;
	uint8_t kind;		 /* if the key is a process or port:
				    INV_TOK_PID or INV_TOK_PORT */
	uint64_t number, serial; /* of a process or port */
	/* When the count was first and last noted, in Erlang monotonic time. */
	int64_t first_ns, last_ns;
};

/* t must be all zero. Returns 0 or INV_ENOMEM. Call inv_tallies_release in both
 * cases. */
int inv_tallies_init(struct inv_tallies *t);
void inv_tallies_release(struct inv_tallies *t);

/* Stores the counts or times of an item. Call this after inv_flow_item. Ignores
 * items without counts or times. Returns 0 or INV_ENOMEM. */
int inv_tallies_item(struct inv_tallies *t, const struct inv_item *it);

/* Returns how many counts there are. */
size_t inv_tallies_n(const struct inv_tallies *t);

/* Returns true if at least one count has times. */
bool inv_tallies_timed(const struct inv_tallies *t);

/* Returns the count after `row', or the first count if `row' is NULL. Returns
 * NULL after the last count. Rows are valid, and do not move, until
 * inv_tallies_release. */
const struct inv_tallied *inv_tallies_next(const struct inv_tallies *t,
					   const struct inv_tallied *row);

/*
 * Returns how long a node has counted, up to its last note, in ms. Returns 0 if
 * no note of the node has arrived yet.
 */
uint64_t inv_tallies_ms(const struct inv_tallies *t, const char *node);

/* The sums of the counts of one node, or of all nodes if the node is NULL. */
struct inv_tallies_sum {
	uint64_t total;
	uint64_t others;   /* events for whose keys the node's tables had no
			      room */
	uint64_t unpaired; /* calls whose time is unknown */
	uint64_t keyed;	   /* the sum of the counts of all keys; less than total
			    * - others if counts are missing */
};
void inv_tallies_sum(const struct inv_tallies *t, const char *node,
		     struct inv_tallies_sum *sum);

#endif
