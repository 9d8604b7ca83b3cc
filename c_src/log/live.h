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
 * next returns INV_END if it needs more bytes or a later watermark; if the feed
 * no longer grows, INV_END means that all items were returned.  An item is
 * valid until the next call of next, even if bytes are pushed meanwhile.
 *
 * The streams are merged by time up to the latest watermark. An event that
 * arrives late, after a watermark that is later than the event, is returned
 * when it arrives. By its end, the feed has returned for each stream the same
 * items as log/set.h returns for a file with these bytes.
 */

/* Default for cap: bytes of packets that wait to be read. */
#define INV_LIVE_CAP (24u * 1024 * 1024)

/* Gets a note with a name of a process. `item' is valid until the function
 * returns. */
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
 * From now on inv_live_push passes each name to `fn' when it arrives, as an early
 * note: the process's events before the note may not have been returned yet.
 * The note is returned at its place, too.
 */
void inv_live_names_to(struct inv_feed *feed, inv_live_name_fn *fn, void *arg);

/*
 * Pushes the next n bytes of the log. Returns 0; INV_EFORMAT: not a log;
 * INV_EVERSION; INV_ENOMEM. After an error the feed takes no more bytes, and
 * returns the items that it has, as after inv_live_end.
 */
int inv_live_push(struct inv_feed *feed, const void *bytes, size_t n,
		  struct inv_err *err);

/*
 * Sets the watermark: every event before erl_ns, in Erlang monotonic time, is
 * in the bytes pushed so far. now_ms is the time of the call, on a clock that
 * never goes back (log/merge.h).
 */
void inv_live_mark(struct inv_feed *feed, int64_t erl_ns, int64_t now_ms);

/*
 * Call it when no more bytes will come. feed->unended is then false if the log
 * is complete, and true if its end is missing. Returns the errors of
 * inv_live_push.
 */
int inv_live_end(struct inv_feed *feed, struct inv_err *err);

/*
 * Returns true if packets of at least `cap' bytes wait to be read. Then the
 * caller should call next before it pushes more, but inv_live_push accepts more
 * bytes in any case. A full feed returns items without waiting for a watermark,
 * so that it cannot stay full. In addition to `cap', the feed needs memory for
 * one unpacked packet of each stream.
 */
bool inv_live_full(const struct inv_feed *feed);

/*
 * Returns the ms until every name should have arrived that the node has written
 * within `ms' of the time ts_ns; 0: it should have arrived already. It does not
 * wait longer than `ms' for a node that does not answer, nor if the feed is full
 * or no more bytes will come.
 */
int64_t inv_live_names_wait(const struct inv_feed *feed, int64_t ts_ns,
			    int64_t ms, int64_t now_ms);

#endif
