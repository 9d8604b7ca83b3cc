/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TOP_MODEL_H
#define INV_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/ranking.h"
#include "node/gauge.h"
#include "top/speeds.h"

/*
 * What `inviso top' knows and shows: nodes, and tables of processes and of
 * functions. Each table has a sort order and a chosen row. This file uses
 * neither the terminal nor the connections to nodes.
 */
enum inv_top_table {
	INV_TOP_PROCESSES,
	INV_TOP_FUNCTIONS,
	INV_TOP_TABLES
};

/* The values by which rows can be sorted, the highest first. */
enum inv_top_by {
	INV_TOP_BY_MAILBOX,
	INV_TOP_BY_MEMORY,
	INV_TOP_BY_REDUCTIONS,
	INV_TOP_BY_MESSAGES,
	INV_TOP_BY_CALLS, /* calls in a second */
	INV_TOP_BY_COUNT,
	INV_TOP_BY_P50,
	INV_TOP_BY_P99,
	INV_TOP_BY_MAX,
	INV_TOP_BY_SUM,
	INV_TOP_BYS
};

struct inv_top_node {
	const char *name; /* borrowed */
	bool measured;	  /* there are figures */
	struct inv_gauged now;
	double reductions; /* in a second; -1: unknown */
	double messages;   /* in a second; -1: unknown */
	char state[160];   /* "": all is well; otherwise why there are no new
			      figures */
};

#define INV_TOP_SEVERAL SIZE_MAX

struct inv_top_row {
	size_t node;	  /* index of the node; INV_TOP_SEVERAL: the row is the
			     sum over several nodes */
	const char *key;  /* "<0.9.0>", "shop:pay/2"; node and key identify the
			     row */
	const char *name; /* name of the process or of the function, as shown;
			     "": unknown */
	/* For a process: its figures. NULL: only its messages are known. */
	const struct inv_gauge_row *process;
	double messages; /* in a second; -1: unknown */
	bool own;	 /* the process belongs to inviso */
	/* a function */
	const struct inv_speed *function;
};

struct inv_top_rows {
	struct inv_top_row *v;
	size_t n;
};

struct inv_board {
	struct inv_top_node *nodes;
	size_t n_nodes;
	bool has_functions; /* calls are timed */
	bool has_messages;  /* messages are counted */
	struct inv_speeds functions, messages;
	struct inv_top_rows rows[INV_TOP_TABLES];
	enum inv_top_by by[INV_TOP_TABLES];
	/* what the user sees */
	enum inv_top_table table;
	size_t chosen[INV_TOP_TABLES]; /* index of a row */
	size_t first;		       /* the first row on the screen */
	bool frozen;
	bool shows_own; /* rows of inviso's own processes are shown */
	bool help;
	char note[256]; /* a message, below the tables */
	/* private: identifies the chosen row when rows change */
	struct inv_top_choice {
		size_t node;
		char key[256];
	} choice[INV_TOP_TABLES];
};

/* names: the names of the n nodes, borrowed. Returns 0 or INV_ENOMEM. Call
 * inv_board_release in both cases. */
int inv_board_init(struct inv_board *t, const char *const *names, size_t n);
void inv_board_release(struct inv_board *t);

/* Moves the figures of a node from g to the board. */
void inv_board_measured(struct inv_board *t, size_t node, struct inv_gauged *g);

/*
 * inv_board_timed stores the times of calls, inv_board_counted the counts of
 * messages. ms: how long the nodes have timed or counted, by their own clock.
 * Both functions copy what they need from r and flow. They return 0 or
 * INV_ENOMEM.
 */
int inv_board_timed(struct inv_board *t, const struct inv_ranking *r,
		    const struct inv_flow *flow, uint64_t ms);
int inv_board_counted(struct inv_board *t, const struct inv_ranking *r,
		      const struct inv_flow *flow, uint64_t ms);

/* Makes the rows from the figures, times and counts, and sorts them. The rows
 * are valid until one of the functions above is called. Returns 0 or
 * INV_ENOMEM. */
int inv_board_rows(struct inv_board *t);

/* Returns true if the table can be sorted by this value now. */
bool inv_board_can_sort(const struct inv_board *t, enum inv_top_table table,
			enum inv_top_by by);
/* Sorts the visible table by the value `by'. Does nothing if the table cannot
 * be sorted by this value. */
void inv_board_sort(struct inv_board *t, enum inv_top_by by);
/* Sorts by the value of the next (1) or the previous (-1) column. */
void inv_board_sort_next(struct inv_board *t, int step);
/* Returns the value by which a row is sorted; -1: unknown. */
double inv_board_value(const struct inv_top_row *r, enum inv_top_by by);

/* Chooses the row that is `by' rows below the chosen row. */
void inv_board_move(struct inv_board *t, long by);
/* Shows, or hides, the processes of inviso. */
void inv_board_show_own(struct inv_board *t, bool show);
/* Shows another table, if the board has it. */
void inv_board_show(struct inv_board *t, enum inv_top_table table);
/* Returns the chosen row of the visible table, or NULL if the table is
 * empty. */
const struct inv_top_row *inv_board_chosen(const struct inv_board *t);

#endif
