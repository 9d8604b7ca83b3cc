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
 * A log that is being written, as a feed: its bytes are pushed as they arrive,
 * cut anywhere, and what is known to be in order is given out.
 *
 *	inv_live_new(&feed, &node, "a@h", INV_LIVE_CAP, &notices, &err);
 *	while (...) {
 *		if (!inv_live_full(feed))
 *			... ask for more ...
 *		inv_live_push(feed, bytes, n, &err);
 *		inv_live_mark(feed, watermark, now_ms);
 *		while (!feed->ops->next(feed))
 *			... feed->item ...
 *	}
 *	inv_live_end(feed, &err);
 *	... the rest of the items; feed->rotated, feed->unended ...
 *	feed->ops->free(feed);
 *
 * next returns INV_END when there is nothing more for now: either it has to
 * wait for bytes or a mark, or all was given out (inv_live_done).  An item is
 * good until the next call of next, whatever is pushed meanwhile.
 *
 * When all bytes of a log were pushed and then the end, it gives out what
 * log/reader.h does of a file with these bytes.  Before, the streams are merged
 * by time as far as the marks allow; an event that comes later than its mark
 * promised is given out when it comes.
 */

/* Bytes of packets that are kept until it is their turn. */
#define INV_LIVE_CAP (8u * 1024 * 1024)

/*
 * name is how messages call it, and copied; node and notices are borrowed, and
 * node->otp_release is filled in from the log if it is 0.  cap: see
 * inv_live_full.
 */
int inv_live_new(struct inv_feed **feed, struct inv_node *node,
		 const char *name, size_t cap, struct inv_notices *notices,
		 struct inv_err *err);

/*
 * The next n bytes of the log.  INV_EFORMAT when it is no log, INV_EVERSION,
 * INV_ENOMEM: then there is no more to come of it, and what it had is given out
 * as after inv_live_end.
 */
int inv_live_push(struct inv_feed *feed, const void *bytes, size_t n,
		  struct inv_err *err);

/*
 * Every event before erl_ns, Erlang's monotonic time, is in the bytes pushed
 * so far.  now_ms is a clock of the caller's that never goes back: when it was
 * heard (log/live_merge.h).
 */
void inv_live_mark(struct inv_feed *feed, int64_t erl_ns, int64_t now_ms);

/*
 * No more bytes will come: the log is complete, or its node is gone.  Which of
 * the two, is seen by the log (feed->unended).  Errors as inv_live_push.
 */
int inv_live_end(struct inv_feed *feed, struct inv_err *err);

/*
 * It holds so much that nothing should be pushed until next was called; push
 * takes it all the same.  What a full one holds is given out without waiting
 * for a mark, so that it cannot stay full.  At most one packet of each thread
 * of the node is unpacked, besides.
 */
bool inv_live_full(const struct inv_feed *feed);

/* Ended, and all was given out. */
bool inv_live_done(const struct inv_feed *feed);

/*
 * For log/live_merge.h: the last mark as Erlang system time; false: there was
 * none, or the clocks are not known yet.  And when it was heard; INT64_MIN:
 * never.
 */
bool inv_live_marked(const struct inv_feed *feed, int64_t *ts_ns);
int64_t inv_live_heard(const struct inv_feed *feed);

#endif
