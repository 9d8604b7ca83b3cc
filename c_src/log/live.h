/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_LIVE_H
#define INV_LOG_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "log/feed.h"
#include "log/notice.h"

/*
 * A log that is being written, as a feed (log/reader.h).  The caller pushes its
 * bytes as they arrive, in pieces of any size.  The feed returns items as far
 * as their order is certain.
 *
 *	inv_live_new(&feed, &node, "a@h", INV_LIVE_CAP, &notices, &err);
 *	while (...) {
 *		if (!inv_live_full(feed))
 *			... request more ...
 *		inv_live_push(feed, bytes, n, &err);
 *		inv_live_mark(feed, watermark, now_ms);
 *		while (!feed->ops->next(feed))
 *			... feed->item ...
 *	}
 *	inv_live_end(feed, &err);
 *	... the remaining items; feed->rotated, feed->unended ...
 *	feed->ops->free(feed);
 *
 * `next' returns INV_END if it needs more bytes or a later watermark. After
 * inv_live_end, INV_END means that all items were returned.  An item is valid
 * until the next call of `next', even if bytes are pushed meanwhile.
 *
 * The items of the streams are merged by time up to the latest watermark. If an
 * event arrives although the watermark is already later than the event, it is
 * returned at once. In the end the feed has returned for each stream the same
 * items as log/set.h returns for a file with the same bytes.
 */

/* The usual value of `cap' of inv_live_new, in bytes (see inv_live_full). */
#define INV_LIVE_CAP (24u * 1024 * 1024)

/* A function that the feed calls for each note that gives the name of a process
 * or port. `item' is the note, and is valid until the function returns. */
typedef void inv_live_name_fn(void *arg, struct inv_item *item);

/*
 * Makes a feed. Copies `name', which notices show. Borrows `node' and
 * `notices'. If node->otp_release is 0, sets it from the log. For `cap' see
 * inv_live_full.
 */
int inv_live_new(struct inv_feed **feed, struct inv_node *node,
		 const char *name, size_t cap, struct inv_notices *notices,
		 struct inv_err *err);

/*
 * From now on inv_live_push calls `fn' for each note with a name when the note
 * arrives. This is early: the feed may still have to return events that the
 * process had before the note. Later the feed also returns the note as an item,
 * at its place among the events.
 */
void inv_live_names_to(struct inv_feed *feed, inv_live_name_fn *fn, void *arg);

/*
 * Pushes the next n bytes of the log. Returns 0, INV_EFORMAT if the bytes are
 * not a log, INV_EVERSION or INV_ENOMEM. After an error the feed takes no more
 * bytes, and returns the items that it has, as after inv_live_end.
 */
int inv_live_push(struct inv_feed *feed, const void *bytes, size_t n,
		  struct inv_err *err);

/*
 * Sets the watermark: every event before erl_ns, in Erlang monotonic time, is
 * in the bytes that were pushed. now_ms is the time of the call, on the same
 * clock as the field now_ms of log/merge.h. This clock must never go back.
 */
void inv_live_mark(struct inv_feed *feed, int64_t erl_ns, int64_t now_ms);

/*
 * Call it when no more bytes will come. feed->unended is then false if the log
 * is complete, and true if its end is missing. Returns the errors of
 * inv_live_push.
 */
int inv_live_end(struct inv_feed *feed, struct inv_err *err);

/*
 * Returns true if the feed is full: the packets that were pushed and not read
 * yet have at least `cap' bytes. The caller should then call `next' before it
 * pushes more bytes, but inv_live_push does not refuse them. A full feed
 * returns items without waiting for a watermark, so that it does not stay full.
 * In addition to `cap', the feed needs memory for one decompressed packet of
 * each stream.
 */
bool inv_live_full(const struct inv_feed *feed);

/*
 * Returns how long the caller should still wait, in ms, for the name of a
 * process that had an event at ts_ns. The node writes the name at most `ms'
 * milliseconds after the event. So if the watermark is at least `ms' later than
 * ts_ns, there is nothing to wait for, and the result is 0. It is also 0 if no
 * watermark has arrived for `ms', if the feed is full, or if no more bytes will
 * come.
 */
int64_t inv_live_names_wait(const struct inv_feed *feed, int64_t ts_ns,
			    int64_t ms, int64_t now_ms);

#endif
