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
 * A log as a feed. It returns the items of all streams of the log in the order
 * of the machine's monotonic clock. If two items have equal times, it returns
 * the item of the stream with the smaller number first.
 *
 * The packets of a log come from files (log/set.h) or from bytes that arrive
 * (log/live.h). Each of these two has a struct whose first member is a struct
 * inv_reader, and supplies packets through inv_reader_ops. For arriving bytes,
 * an item is returned when its time is before the watermark. For files there is
 * no watermark, and items are returned at once.
 */
struct inv_reader;

struct inv_reader_ops {
	/*
	 * Sets *at to the stream's next EVENTS or TOTALS packet. If `stream' is
	 * INV_LOG_ANCHORS_ONLY, sets *at to the next ANCHORS packet. If it is
	 * INV_LOG_NOTES_ONLY (only with names_first), sets *at to the next
	 * packet of notes. Returns 0; INV_ENOMEM; or INV_END if there is no
	 * such packet, or none has arrived yet. The packet stays valid until
	 * the next call for the same stream.
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
	uint64_t first_ns;  /* time of the earliest event in the file from which
			       `take' reads, or in the bytes that have arrived;
			       UINT64_MAX: no events */
	uint64_t before_ns; /* watermark: `take' has supplied all events before
			       this time; UINT64_MAX: all items may be
			       returned */
	bool complete;	    /* no more packets will come */
	bool names_first;   /* return all early notes (inv_note_is_early) before
			       the events */
	/* private, but log/set.c and log/live.c use these fields, too */
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
	struct inv_stream notes;      /* reads packets of notes if names_first
				       * is true; log/live.c uses it to read
				       * names when they arrive */
	struct inv_notices unnoticed; /* drops the notices of `notes', because
				       * the other streams read the same
				       * packets and report the same damage */
	bool named;		      /* all early notes were returned */
	bool fresh;   /* streams that are not in the heap may have new items */
	bool counted; /* feed.rotated and feed.skipped were computed */
	bool guessed; /* inv_reader_guess_clock was called */
	uint64_t last_ns;
	struct inv_unpacker *anchor_unpacker;
	struct inv_entries anchors; /* current packet of anchors */
	uint32_t anchor;	   /* index of the next anchor in this packet */
	struct inv_account common; /* losses that belong to no stream */
	struct inv_loss_list losses;
};

/*
 * Initializes *r, which must be all zero. Calls ops->take to read the first
 * anchors. The caller must release r, also on failure. Returns 0 or INV_ENOMEM.
 */
int inv_reader_init(struct inv_reader *r, const struct inv_node *node,
		    const struct inv_reader_ops *ops,
		    struct inv_notices *notices);
void inv_reader_release(struct inv_reader *r);

/* Call it when a stream appears, or gets more packets. Returns 0 or
 * INV_ENOMEM. */
int inv_reader_add(struct inv_reader *r, uint32_t stream);

/* Limits each stream that was added so far to *range (log/stream.h). Call it
 * before the first item. */
void inv_reader_limit(struct inv_reader *r, const struct inv_range *range);

/*
 * If the log has no anchors, assumes that the file was created at the time of
 * the first event, and reports this assumption once.
 */
void inv_reader_guess_clock(struct inv_reader *r);

/* Adds to r->losses the losses that belong to no stream and were not added yet:
 * events of threads that had no ring. One entry of a TOTALS packet counts them;
 * if `t' is another entry, does nothing. */
void inv_reader_count_common(struct inv_reader *r,
			     const struct inv_log_totals *t);

/* `next' and `load' of struct inv_feed_ops. */
int inv_reader_next(struct inv_feed *feed);
int inv_reader_load(struct inv_feed *feed);

#endif
