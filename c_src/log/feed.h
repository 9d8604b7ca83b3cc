/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FEED_H
#define INV_LOG_FEED_H

#include "log/item.h"

/*
 * A source of items in the order in which they were recorded: a log in files
 * (log/set.h), a log that is being written (log/live.h), or a set of trace port
 * files (log/tracefile.h). Each of these sources is a struct whose first member
 * is a struct inv_feed.
 */
struct inv_feed;

struct inv_feed_ops {
	/*
	 * Reads the next item into feed->item. Returns 0 or INV_ENOMEM.
	 * Returns INV_END if there are no more items; if the feed is growing,
	 * INV_END means that no item is available yet. The item's pointers are
	 * valid until the next call.
	 */
	int (*next)(struct inv_feed *feed);
	void (*free)(struct inv_feed *feed);
	/*
	 * Completes feed->item. If `lazy' is true, `next' returns only the time
	 * of a large event, and `load' reads the event itself. If the event is
	 * unreadable, the item becomes a loss. Returns 0 or INV_ENOMEM. `load'
	 * is NULL if items are always complete.
	 */
	int (*load)(struct inv_feed *feed);
	/*
	 * Tells the feed that the caller needs only events with from_ns <=
	 * ts_ns < until_ns. The feed may still return other events. Call it
	 * before the first item. `limit' is NULL if the feed always returns all
	 * events.
	 */
	void (*limit)(struct inv_feed *feed, int64_t from_ns, int64_t until_ns);
};

struct inv_feed {
	const struct inv_feed_ops *ops;
	const struct inv_node *node; /* borrowed */
	struct inv_item item;
	int64_t first_ns; /* ts_ns of the first event, or slightly earlier;
			     INT64_MAX: unknown */
	/*
	 * The number of events in files that rotation deleted. These events do
	 * not count as lost. Valid after all items were returned.
	 */
	uint64_t rotated;
	uint64_t skipped; /* events that were not read, because they are outside
			     the range of ops->limit; valid after all items
			     were returned */
	bool lazy; /* set by the caller: true if the caller calls ops->load
		      before it uses an item */
	/* True: the log's end is missing, and perhaps its last events, too. */
	bool unended;
	/* True: it is known before the first event is read that events are
	 * missing. False: this is not known; events may be missing
	 * nevertheless. */
	bool lossy;
	/* More bytes may arrive. If false, the next two fields are not used. */
	bool growing;
	int64_t mark_ns;  /* watermark: no item with an earlier Erlang system
			     time will follow; INT64_MIN: unknown */
	int64_t heard_ms; /* when the caller received the watermark; INT64_MIN:
			     never */
};

#endif
