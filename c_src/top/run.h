/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TOP_RUN_H
#define INV_TOP_RUN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/collect.h"
#include "cli/trace_opts.h"
#include "cli/watch.h"
#include "node/gauge.h"
#include "top/model.h"

/* Runs `inviso top'. Each node is measured by a gauge, a process on this node.
 * If the user asks for it, sessions on the nodes time calls and count
 * messages. */

/* A node's gauge. */
struct inv_top_gauge {
	struct inv_gauge gauge;
	bool there; /* the gauge exists, as far as this command knows */
	struct inv_ask ask;
	int64_t next_ms;
	bool answered;
};

enum inv_top_showing {
	INV_TOP_SHOWS_SCREEN,
	INV_TOP_SHOWS_TRACE, /* `inviso trace' uses the terminal */
	INV_TOP_SHOWS_END,   /* the trace has ended; its output is shown until
				the user presses a key */
};

struct inv_top_run {
	/* options */
	struct inv_node_opts nodes;
	struct inv_trace_opts what;
	uint64_t every_ms;
	uint64_t top; /* rows of the tables of --once */
	bool once;
	bool json;
	bool quiet;
	bool messages;
	/* the orders of --sort; INV_TOP_BYS: the default */
	enum inv_top_by by[INV_TOP_TABLES];
	/* private */
	struct inv_cluster cluster;
	/* First the sessions that time calls, then the sessions that count
	 * messages: one of each kind for each node. */
	struct inv_members all;
	struct inv_members timed, counted; /* parts of `all' */
	struct inv_session_count by_function, by_process;
	struct inv_collect times, counts;
	struct inv_watch watch;
	struct inv_top_gauge *gauges; /* one for each node */
	const char **names;
	size_t n;
	struct inv_board model;
	bool failed;
	bool leaving; /* the user has left, or the time of --once is over */
	/* --once: how long to measure, and when the measurement ends. After the
	 * measurement, end_ms is INT64_MAX, and each gauge must answer once
	 * more. */
	uint64_t period_ms;
	int64_t end_ms;
	int64_t next_ms; /* when inv__top_take is called next */
	/* the screen */
	struct pollfd more[INV_WATCH_MORE];
	enum inv_top_showing showing;
	bool dirty; /* the screen is to be drawn again */
	pid_t child;
	int child_fd; /* pidfd */
};

/* Runs the command after its options were read. Returns the exit status. */
int inv_top_run(struct inv_top_run *r);

/* --- only for the files of this room -------------------------------------- */

/* Passes the times and counts so far to the model. Stops the run if there is no
 * memory. */
void inv__top_take(struct inv_top_run *r);
void inv__top_no_memory(struct inv_top_run *r);

/* Prints all tables, for --once. */
void inv__top_print(struct inv_top_run *r);

/* The screen. inv__top_screen_open opens the terminal, and returns an enum
 * inv_exit. inv__top_screen_turn handles keys and draws; the hook `turn' of the
 * watch (cli/watch.h) calls it. inv__top_screen_close restores the terminal. */
int inv__top_screen_open(struct inv_top_run *r);
void inv__top_screen_turn(struct inv_top_run *r);
void inv__top_screen_close(struct inv_top_run *r);

/* The trace of a row. inv__top_trace starts the trace, and reports errors in
 * the model's note. inv__top_trace_ended returns true if the trace has ended.
 * inv__top_trace_end ends the trace, and takes the terminal back. */
void inv__top_trace(struct inv_top_run *r);
bool inv__top_trace_ended(struct inv_top_run *r);
void inv__top_trace_end(struct inv_top_run *r);

#endif
