/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_CLOCKS_H
#define INV_FLOW_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/offset.h"
#include "flow/seq.h"
#include "log/item.h"

/*
 * Compares the system clocks of all nodes. The differences follow from messages
 * of sequential traces between nodes, and from questions: a command asks
 * several nodes for the time (INV_NOTE_CLOCK).
 *
 * 	inv_clocks_init(&c, n_nodes);
 * 	inv_clocks_add(&c, item, seq);     for each event of sequential traces
 * 	inv_clocks_note(&c, item, cursor); for each note about a question
 * 	inv_clocks_solve(&c);
 * 	if (c.corrects)
 * 		ts = inv_clocks_correct(&c, node, ts);
 *
 * Each node is compared with a reference node. Nodes that messages or questions
 * connect, directly or through other nodes, have the same reference: the first
 * of them. If there are several paths to the reference, the path with the
 * narrowest intervals is used. A path can lead through the clock of a command,
 * but never ends there. Clocks that agree with all messages are not corrected.
 */
#define INV_CLOCKS_NODES 256u
/* The clocks of at most this many commands are compared with the clocks of the
 * nodes that the commands asked. */
#define INV_CLOCKS_COMMANDS 8u

struct inv_clock_node {
	char *name;	    /* NULL: the node had no event */
	uint32_t reference; /* number of the node with whose clock this node's
			       clock is compared */
	/* the next node on the path to the reference; in the reference itself:
	 * its own number */
	uint32_t next;
	struct inv_offset offset; /* how far the clock of `next' is ahead of
				     this node's clock */
	bool agrees;		  /* the clocks of `next' and of this node
				     agree: at all times, 0 is in the interval
				     of the offset */
	int64_t first_ns;
	int64_t last_ns;
	struct {
		int64_t command;
		int64_t number;
		int64_t at; /* when the node noted the question */
	} question;	    /* the last question of a command to this node;
			       command is 0: there was no question yet */
};

struct inv_half;

struct inv_clocks {
	bool corrects; /* the clocks of some nodes do not agree */
	uint32_t n;
	struct inv_clock_node *nodes; /* nodes[i] is the node with the number
					 i */
	uint64_t forgotten; /* send and receive events that were dropped before
			     * the other event of their message was read,
			     * because too many events were kept */
	/* private */
	uint32_t n_all; /* number of all clocks: first those of the nodes, then
			 * those of the commands */
	int64_t commands[INV_CLOCKS_COMMANDS]; /* the commands' numbers
						  (INV_NOTE_CLOCK); 0: no
						  command */
	/* A matrix of n_all * n_all elements. For i < j, the element
	 * [i * n_all + j] says how far clock j is ahead of clock i, at times of
	 * clock i. The other elements are unused. */
	struct inv_offset *pairs;
	struct inv_half *halves;
};

/* n: how many nodes there are. If there are more than INV_CLOCKS_NODES, only
 * the first are compared. Returns 0 or INV_ENOMEM. Call inv_clocks_release in
 * both cases. */
int inv_clocks_init(struct inv_clocks *c, uint32_t n);
void inv_clocks_release(struct inv_clocks *c);

/* Adds an event. Events may be added in any order. Returns 0 or INV_ENOMEM. */
int inv_clocks_add(struct inv_clocks *c, const struct inv_item *it,
		   const struct inv_seq *s);

/* Adds a note about a question. The notes of one node must be added in the
 * order of their times. Returns 0 or INV_ENOMEM. */
int inv_clocks_note(struct inv_clocks *c, const struct inv_item *it,
		    struct inv_cursor *cursor);

/* Finds the reference and the offset of each node. Afterwards nothing can be
 * added. Returns 0 or INV_ENOMEM. */
int inv_clocks_solve(struct inv_clocks *c);

/* Converts a time of the node's clock to a time of the reference's clock. */
int64_t inv_clocks_correct(struct inv_clocks *c, uint32_t node, int64_t ts_ns);

/*
 * Sets *i for the time ts_ns of the node: the reference's clock is ahead of the
 * node's clock by `low' to `high' ns, and inv_clocks_correct adds `estimate'.
 * Returns false if the node is its own reference.
 */
struct inv_clock_interval {
	int64_t low;
	int64_t high;
	int64_t estimate;
};
bool inv_clocks_interval(struct inv_clocks *c, uint32_t node, int64_t ts_ns,
			 struct inv_clock_interval *i);

#endif
