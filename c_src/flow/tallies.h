/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_TALLIES_H
#define INV_FLOW_TALLIES_H

#include <stddef.h>
#include <stdint.h>

#include "log/item.h"

/*
 * The counts in the logs of sessions that count (INV_NOTE_COUNT in
 * abi/event.h). A later count of the same key of a node replaces the earlier
 * one.
 */
struct inv_tally_entry;

struct inv_tallies {
	/* private */
	struct inv_tally_entry *entries; /* hash table */
	struct inv_cursor *cursor;
};

/* A count of a key of a node. */
struct inv_tallied {
	const struct inv_node *node;
	const char *key; /* as Erlang prints it; empty for total and others */
	uint64_t n;
	enum inv_count_of of;
	uint8_t kind;		 /* of a process: INV_TOK_PID or _PORT */
	uint64_t number, serial; /* of a process */
	/* When it was first and last noted: Erlang monotonic time. */
	int64_t first_ns, last_ns;
};

/* t must be all zero. Returns 0 or INV_ENOMEM; release it also then. */
int inv_tallies_init(struct inv_tallies *t);
void inv_tallies_release(struct inv_tallies *t);

/* Takes an item, after inv_flow_item. Ignores other items than counts. Returns 0
 * or INV_ENOMEM. */
int inv_tallies_item(struct inv_tallies *t, const struct inv_item *it);

/* Returns how many counts there are. */
size_t inv_tallies_n(const struct inv_tallies *t);

/* Returns the count after `row', or the first one after NULL. Returns NULL after
 * the last one. Rows are valid, and do not move, until inv_tallies_release. */
const struct inv_tallied *inv_tallies_next(const struct inv_tallies *t,
					   const struct inv_tallied *row);

/* Returns how long a node has counted, up to its last note; 0: it has noted
 * nothing yet. */
uint64_t inv_tallies_ms(const struct inv_tallies *t, const char *node);

/* Sums over all nodes, or of one node (NULL: all). */
struct inv_tallies_sum {
	uint64_t total;
	uint64_t others; /* of keys beyond the bound */
	uint64_t keyed;	 /* of all keys; less than total - others if counts
			    are missing */
};
void inv_tallies_sum(const struct inv_tallies *t, const char *node,
		     struct inv_tallies_sum *sum);

#endif
