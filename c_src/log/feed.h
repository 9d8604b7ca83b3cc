/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FEED_H
#define INV_LOG_FEED_H

#include "log/item.h"

/*
 * Something that gives out items in the order of its own time: a log
 * (log/reader.h), one that is being written (log/live.h), or a set of trace
 * port files (log/tracefile.h).  Embedded first in what implements it.
 */
struct inv_feed;

struct inv_feed_ops {
	/* The next item in feed->item: 0, INV_END, or INV_ENOMEM.  What it
	 * points to is good until the next call. */
	int (*next)(struct inv_feed *feed);
	void (*free)(struct inv_feed *feed);
};

struct inv_feed {
	const struct inv_feed_ops *ops;
	const struct inv_node *node; /* borrowed */
	struct inv_item item;
	/* Events that rotation deleted: not lost, but not here.  Known when
	 * all has been read. */
	uint64_t rotated;
	/* A log whose end is not here: nobody knows what else there was. */
	bool unended;
};

#endif
