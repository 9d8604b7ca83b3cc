/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_VIEW_H
#define INV_CLI_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/members.h"
#include "log/live.h"
#include "log/live_merge.h"
#include "sink/sink.h"

/*
 * The logs of sessions as lines on a screen, while they are written: what
 * cli/watch.h takes goes in, what is in order goes out as fast as the reader
 * takes it, and no faster is asked for.
 */
struct inv_view {
	struct inv_screen *screen;
	const struct inv_members *ms;
	uint64_t events; /* so many are enough; 0: all */
	bool fit;	 /* lines to the terminal */
	/* results */
	bool enough;
	bool failed; /* no memory */
	struct inv_sink *sink;
	/* private */
	struct inv_notices notices;
	struct inv_feed **feeds; /* of members */
	struct inv_node *nodes;
	struct inv_live_merge merge;
	struct inv_buf out;
};

/* v is all zero, but for screen, ms, events and fit.  INV_ENOMEM; to be
 * released, error or not. */
int inv_view_init(struct inv_view *v, const struct inv_sink_ops *format,
		  const struct inv_sink_opts *opts);
void inv_view_release(struct inv_view *v);

/* Whether there is room for more of m's log. */
bool inv_view_wants(struct inv_view *v, const struct inv_member *m);
void inv_view_took(struct inv_view *v, const struct inv_member *m,
		   const struct inv_followed *f);
void inv_view_ended(struct inv_view *v, const struct inv_member *m);

/* Prints what is there; after how many ms there may be more though nothing
 * came, -1: not before. */
int64_t inv_view_print(struct inv_view *v);
/* Whether it will have no more to print. */
bool inv_view_done(const struct inv_view *v);

#endif
