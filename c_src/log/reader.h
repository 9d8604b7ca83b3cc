/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_READER_H
#define INV_LOG_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "log/clock.h"
#include "log/feed.h"
#include "log/heap.h"
#include "log/packet.h"
#include "log/stream.h"

/*
 * A log as a feed. The items of the log's streams are returned in the order of
 * the machine's monotonic clock. If two items have equal times, the item of the
 * stream with the smaller number is returned first.
 *
 * A log is either files (log/set.h) or bytes that arrive (log/live.h). Each of
 * these structs has a struct inv_reader as its first member, and supplies its
 * packets through inv_reader_ops. An item is returned when its time is before
 * the watermark. Without a watermark (files) items are returned at once.
 */
struct inv_reader;

struct inv_reader_ops {
	/*
	 * Sets *at to the stream's next EVENTS or TOTALS packet; for
	 * INV_LOG_ANCHORS_ONLY, to the next ANCHORS packet; for
	 * INV_LOG_NOTES_ONLY, if names_first is true, to the next packet of
	 * notes. Returns 0; INV_END: there is none, or none yet; INV_ENOMEM. The
	 * packet stays valid until the next call for the same stream.
	 */
	int (*take)(struct inv_reader *r, uint32_t stream,
		    struct inv_log_place *at);
};

struct inv_reader_stream;

struct inv_reader {
	struct inv_feed feed;
	/* set by log/set.c or log/live.c */
	const struct inv_reader_ops *ops;
	struct inv_notices *notices; /* borrowed */
	const char *name;	     /* the log's name in notices; borrowed */
	uint64_t created_ns;	     /* when the log was created, Unix time */
	bool rotated;		     /* the log's first files are missing */
	uint64_t first_ns;  /* earliest event of the file that `take' reads;
			       UINT64_MAX: none */
	uint64_t before_ns; /* watermark: all earlier events have been read;
			       UINT64_MAX: no limit */
	bool complete;	    /* no more packets will come */
	bool names_first;   /* return all names before the events, because
			       they are noted later than they are needed */
	/* used by log/set.c and log/live.c, too */
	struct inv_unpacker *unpacker;
	struct inv_clock clock;
	struct inv_merge_heap heap; /* streams that have an item */
	/* private */
	struct inv_reader_stream **streams; /* indexed by number; NULL: not seen
					       yet */
	struct inv_reader_stream *given;    /* the stream on top of the heap, if
					       its item was returned; otherwise
					       NULL */
	uint32_t n_streams;
	struct inv_stream notes;      /* if names_first; log/live.c uses it
				       * for names that arrive */
	struct inv_notices unnoticed; /* notices of the stream `notes' are
				       * dropped, because the other streams read
				       * and report the same packets */
	bool named;		      /* all names were returned */
	bool fresh; /* streams that are not in the heap may have new items */
	bool counted;
	bool guessed;
	uint64_t last_ns;
	struct inv_unpacker *anchor_unpacker;
	struct inv_entries anchors; /* current packet of anchors; `anchor' is
				       the index of the next one */
	uint32_t anchor;
	struct inv_account common; /* losses that belong to no stream */
	struct inv_loss_list losses;
};

/*
 * Initializes r, which must be all zero. Reads the first anchors, so ops->take
 * must work. The caller releases r, also on failure. Returns 0 or INV_ENOMEM.
 */
int inv_reader_init(struct inv_reader *r, const struct inv_node *node,
		    const struct inv_reader_ops *ops,
		    struct inv_notices *notices);
void inv_reader_release(struct inv_reader *r);

/* Call it when a stream appears, or gets more packets. Returns 0 or
 * INV_ENOMEM. */
int inv_reader_add(struct inv_reader *r, uint32_t stream);

/* Limits all streams that were added, before the first item. */
void inv_reader_limit(struct inv_reader *r, const struct inv_range *range);

/*
 * If the log has no anchors, assumes that the file was created at the time of
 * the first event, and reports this assumption once.
 */
void inv_reader_guess_clock(struct inv_reader *r);

/* Takes from totals the losses that belong to no stream: events of threads
 * without a ring. */
void inv_reader_count_common(struct inv_reader *r,
			     const struct inv_log_totals *t);

/* `next' and `load' of struct inv_feed_ops. */
int inv_reader_next(struct inv_feed *feed);
int inv_reader_load(struct inv_feed *feed);

#endif
