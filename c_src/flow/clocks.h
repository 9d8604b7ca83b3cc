/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_CLOCKS_H
#define INV_FLOW_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/offset.h"
#include "flow/seq.h"
#include "log/item.h"

/*
 * The system clocks of all nodes, compared by the messages of sequential traces
 * between them, and by questions of commands to several nodes (INV_NOTE_CLOCK).
 *
 *	inv_clocks_init(&c, n_nodes);
 *	inv_clocks_add(&c, item, seq);     for each event of sequential traces
 *	inv_clocks_note(&c, item, cursor); for each note about a question
 *	inv_clocks_solve(&c);
 *	if (c.corrects)
 *		ts = inv_clocks_correct(&c, node, ts);
 *
 * Each node is compared with a reference, the first node of those that are
 * connected, on the path on which the intervals are narrowest. The clock of a
 * command can be on the path; only the difference between two nodes counts.
 * Clocks that agree with all messages are left as they are.
 */
#define INV_CLOCKS_NODES 256u
/* So many commands are compared with the nodes that they asked. */
#define INV_CLOCKS_COMMANDS 8u

struct inv_clock_node {
	char *name;	    /* NULL: it had no event */
	uint32_t reference; /* the node to which it is compared */
	/* the next node on the path to the reference; itself: it is the
	 * reference */
	uint32_t next;
	struct inv_offset offset; /* of the clock of `next' */
	bool agrees;		  /* with the clock of `next' */
	int64_t first_ns;
	int64_t last_ns;
	struct {
		int64_t command;
		int64_t number;
		int64_t at; /* when it was noted */
	} question;	    /* the last one; command 0: there is none */
};

struct inv_half;

struct inv_clocks {
	bool corrects; /* some clocks do not agree */
	uint32_t n;
	struct inv_clock_node *nodes; /* by number */
	uint64_t forgotten; /* messages, because too many were on their way */
	/* private */
	uint32_t n_all; /* nodes, and commands after them */
	int64_t commands[INV_CLOCKS_COMMANDS]; /* their numbers, or 0 */
	struct inv_offset *pairs; /* n_all * n_all: of i < j, the offset of j at
				     times of i */
	struct inv_half *halves;
};

/* n: how many nodes there are. If there are more than INV_CLOCKS_NODES, only the
 * first are compared. Returns 0 or INV_ENOMEM; release it also then. */
int inv_clocks_init(struct inv_clocks *c, uint32_t n);
void inv_clocks_release(struct inv_clocks *c);

/* Adds an event. The order is of no importance. Returns 0 or INV_ENOMEM. */
int inv_clocks_add(struct inv_clocks *c, const struct inv_item *it,
		   const struct inv_seq *s);

/* Adds a note about a question; the notes of a node in the order of their times.
 * Returns 0 or INV_ENOMEM. */
int inv_clocks_note(struct inv_clocks *c, const struct inv_item *it,
		    struct inv_cursor *cursor);

/* Returns 0 or INV_ENOMEM. After that, nothing is added. */
int inv_clocks_solve(struct inv_clocks *c);

/* Returns the node's time as the reference's clock shows it. */
int64_t inv_clocks_correct(struct inv_clocks *c, uint32_t node, int64_t ts_ns);

/*
 * Sets the interval of how far the reference's clock is ahead of the node's, and
 * the estimate in it with which times are corrected. Returns false if the node
 * is its own reference.
 */
struct inv_clock_interval {
	int64_t low;
	int64_t high;
	int64_t estimate;
};
bool inv_clocks_interval(struct inv_clocks *c, uint32_t node, int64_t ts_ns,
			 struct inv_clock_interval *i);

#endif
