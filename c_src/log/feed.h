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
	 * Reads the next item into feed->item. Returns 0; INV_END: no more
	 * items, or, while the feed grows, none yet; INV_ENOMEM. The item's
	 * pointers are valid until the next call.
	 */
	int (*next)(struct inv_feed *feed);
	void (*free)(struct inv_feed *feed);
	/*
	 * Completes feed->item, if `lazy' is true: until then, only the time of
	 * a large event is known. The item may become a loss. Returns 0 or
	 * INV_ENOMEM. NULL: items are always complete.
	 */
	int (*load)(struct inv_feed *feed);
	/*
	 * Only events with from_ns <= ts_ns < until_ns are wanted. The feed may
	 * return others, too. Call it before the first item. NULL: the feed
	 * returns all events.
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
	 * not count as lost. Valid after everything was read.
	 */
	uint64_t rotated;
	uint64_t skipped; /* events that were not read, because they are not
			     wanted; valid after everything was read */
	bool lazy; /* set by the caller: it calls ops->load before it uses an
		      item */
	/* True: the log has no end, so later events may be missing. */
	bool unended;
	/* True: events are missing, as far as this is known before events are
	 * read. */
	bool lossy;
	/* More items may follow. If false, the next two fields are not used. */
	bool growing;
	int64_t mark_ns;  /* watermark: no item with an earlier Erlang system
			     time will follow; INT64_MIN: unknown */
	int64_t heard_ms; /* when the caller received the watermark; INT64_MIN:
			     never */
};

#endif
