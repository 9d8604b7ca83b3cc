/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_VIEW_H
#define INV_CLI_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/feeds.h"
#include "cli/pick.h"
#include "flow/flow.h"
#include "log/merge.h"
#include "sink/sink.h"

/*
 * Shows the logs of live sessions on the screen, as lines. cli/watch.h passes
 * the received bytes in. Items are printed in order, as fast as the reader of
 * the output accepts them. While too much output waits, no bytes are requested
 * from the nodes.
 *
 * An event whose process has no name yet waits a short time for the name, and
 * so do all items after it.
 */
struct inv_view {
	struct inv_screen *screen;
	const struct inv_members *ms;
	uint64_t events; /* stop after this many shown events; 0: no limit */
	struct inv_pick *pick;
	bool fit; /* cut lines to the terminal's width */
	/* results */
	bool enough;
	bool failed; /* memory is exhausted */
	struct inv_sink *sink;
	/* private */
	struct inv_feeds feeds;
	struct inv_merge merge;
	struct inv_flow flow;
	struct inv_item *held; /* the next item, which waits for a name; NULL:
				  none */
	struct inv_buf out;
};

/* v must be all zero, except screen, ms, events, pick and fit. The caller
 * releases it, also on failure. Returns 0 or INV_ENOMEM. */
int inv_view_init(struct inv_view *v, const struct inv_sink_ops *format,
		  const struct inv_sink_opts *opts);
void inv_view_release(struct inv_view *v);

/* Returns true if there is room for more bytes of m's log. */
bool inv_view_wants(struct inv_view *v, const struct inv_member *m);
void inv_view_took(struct inv_view *v, const struct inv_member *m,
		   const struct inv_followed *f);
void inv_view_ended(struct inv_view *v, const struct inv_member *m);

/*
 * Prints the available items. Returns a time in ms, or -1. Call this function
 * when bytes arrive. If it has returned a time, also call it when this time has
 * passed without new bytes.
 */
int64_t inv_view_print(struct inv_view *v);
/* Prints the lines that the format has held back. */
void inv_view_flush(struct inv_view *v);
/* Returns true if there will be no more items to print. */
bool inv_view_done(const struct inv_view *v);

#endif
