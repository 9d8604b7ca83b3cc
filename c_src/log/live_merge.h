/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_LIVE_MERGE_H
#define INV_LOG_LIVE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "log/feed.h"

/*
 * The logs of several nodes, each being written (log/live.h), as one, by time;
 * of equal times the feed that was given first.
 *
 * An item is given out when every other feed has a later one, or a mark beyond
 * its time, or has ended.  A feed without a new mark for patience_ms is not
 * waited for: what it has when it is back is given out late.
 *
 *	inv_live_merge_init(&m, feeds, n, 1000);
 *	for (;;) {
 *		... poll for at most inv_live_merge_wait(&m, now_ms) ms;
 *		    inv_live_push, _mark, _end on what has arrived ...
 *		while (!(rc = inv_live_merge_next(&m, now_ms, &item)))
 *			... item; m.late: its time is before the last one's ...
 *		if (rc < 0 || inv_live_merge_done(&m))
 *			break;
 *	}
 *
 * The clocks of the nodes are believed.
 */
struct inv_live_merge {
	bool late;	 /* the item given out last */
	uint64_t n_late; /* so far */
	/* private */
	struct inv_feed **feeds; /* borrowed */
	bool *ready;		 /* feeds[i]->item is to be given out */
	uint32_t n_feeds;
	uint32_t given; /* its item was given out; n_feeds: none was */
	int64_t patience_ms;
	int64_t began_ms; /* INT64_MIN: not yet */
	int64_t last_ns;  /* time of the item given out last */
};

/* INV_ENOMEM. */
int inv_live_merge_init(struct inv_live_merge *m, struct inv_feed **feeds,
			uint32_t n_feeds, int64_t patience_ms);
void inv_live_merge_release(struct inv_live_merge *m);

/*
 * The next item, good until the next call: 0, INV_END (nothing for now), or
 * INV_ENOMEM.  now_ms: the clock of inv_live_mark.
 */
int inv_live_merge_next(struct inv_live_merge *m, int64_t now_ms,
			const struct inv_item **item);

/*
 * Called when next had nothing: after how many ms it might have, though nobody
 * said a word; -1: not before somebody does.
 */
int64_t inv_live_merge_wait(const struct inv_live_merge *m, int64_t now_ms);

/* All feeds have ended, and all was given out. */
bool inv_live_merge_done(const struct inv_live_merge *m);

#endif
