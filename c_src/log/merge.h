/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_MERGE_H
#define INV_LOG_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "log/feed.h"
#include "log/heap.h"

/*
 * Merges many feeds by time. If times are equal, the item of the feed with the
 * smaller number is returned first. The order of the items within a feed never
 * changes, even if the feed's clock jumped back. Times of different nodes are
 * compared without a correction, unless inv_merge_adjust was called.
 *
 * An item is returned when every other feed has a later item, has a watermark
 * after the item's time, or has ended. If a growing feed (log/live.h) gets no
 * new watermark for patience_ms, the merge no longer waits for that feed. Items
 * of that feed may then be late.
 *
 *	inv_merge_init(&m, feeds, n);
 *	m.patience_ms = 1000;
 *	for (;;) {
 *		... poll for at most inv_merge_wait(&m) ms;
 *		    inv_live_push, _mark, _end for what has arrived ...
 *		m.now_ms = ...;
 *		while (!(rc = inv_merge_next(&m, &item)))
 *			... item; m.late: out of order ...
 *		if (rc < 0 || inv_merge_done(&m))
 *			break;
 *	}
 *
 * If all feeds are files, INV_END means that there are no more items, and
 * patience_ms and now_ms are not needed.
 */
struct inv_merge {
	/* The caller sets the next two fields if feeds grow. */
	int64_t patience_ms;
	int64_t now_ms; /* from the same clock as in inv_live_mark */
	/* Changes ts_ns and moved_ns of an item before the item is merged.
	 * inv_merge_adjust sets this function; NULL: times are not changed. */
	void (*adjust)(void *arg, struct inv_item *item);
	void *adjust_arg;
	/* results */
	bool late;	 /* the item that was returned last is earlier than an
			    item that was returned before it */
	uint64_t n_late; /* number of late items so far */
	/* private */
	struct inv_feed **feeds; /* borrowed */
	uint32_t n_feeds;
	struct inv_merge_heap heap; /* feeds that have an item */
	uint32_t *empty;	    /* growing feeds that have no item at the
				       moment */
	uint32_t n_empty;
	bool given;	  /* the item on top of the heap was returned */
	int64_t began_ms; /* when the first wait began; INT64_MIN: not yet */
	int64_t last_ns;  /* latest time of a returned item */
};

/* Returns 0 or INV_ENOMEM. */
int inv_merge_init(struct inv_merge *m, struct inv_feed **feeds,
		   uint32_t n_feeds);
void inv_merge_release(struct inv_merge *m);

/* Returns the earliest first_ns of the feeds. */
int64_t inv_merge_first(const struct inv_merge *m);

/* Tells all feeds (`limit' in log/feed.h) that only events with from_ns <=
 * ts_ns < until_ns are needed. Call it before the first item. */
void inv_merge_limit(struct inv_merge *m, int64_t from_ns, int64_t until_ns);

/*
 * Sets *item to the next item, valid until the next call. Returns 0; INV_END:
 * no more items, or none yet; INV_ENOMEM.
 */
int inv_merge_next(struct inv_merge *m, struct inv_item **item);

/*
 * inv_merge_hold takes back the item that was just returned, and holds its
 * feed: this item and the later items of the feed are returned only after
 * inv_merge_resume. It returns the number of the feed. Call inv_merge_resume
 * exactly once for each held feed; afterwards the item that was returned last
 * is no longer valid. inv_merge_resume returns 0 or INV_ENOMEM.
 */
uint32_t inv_merge_hold(struct inv_merge *m);
int inv_merge_resume(struct inv_merge *m, uint32_t feed);

/* From now on `adjust' changes the times of all items before they are merged.
 * This includes the item that was returned last: it is returned again, at the
 * place of its new time. Do not call it while a feed is held (see
 * inv_merge_hold). */
void inv_merge_adjust(struct inv_merge *m,
		      void (*adjust)(void *arg, struct inv_item *item),
		      void *arg);

/* Returns true if at least one feed of the node is neither held nor at its
 * end. */
bool inv_merge_has(const struct inv_merge *m, const struct inv_node *node);

/*
 * Call it after inv_merge_next returned INV_END. Returns the ms after which
 * inv_merge_next may return an item even if no feed gets new bytes. Returns -1
 * if it will return nothing before a feed gets new bytes.
 */
int64_t inv_merge_wait(const struct inv_merge *m);

/* Returns true if all feeds have ended, and all items were returned. */
bool inv_merge_done(const struct inv_merge *m);

#endif
