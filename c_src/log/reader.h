/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_READER_H
#define INV_LOG_READER_H

#include "base/err.h"
#include "log/feed.h"
#include "log/set.h"

/*
 * A log as a feed: its streams merged by the monotonic clock of their machine,
 * of equal times the stream of the smaller number first.
 */

/* Takes set, also when it fails; borrows node and notices. */
int inv_reader_new(struct inv_feed **feed, struct inv_log_set *set,
		   const struct inv_node *node, struct inv_notices *notices,
		   struct inv_err *err);

#endif
