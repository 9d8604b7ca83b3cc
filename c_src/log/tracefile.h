/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_TRACEFILE_H
#define INV_LOG_TRACEFILE_H

#include "base/err.h"
#include "log/feed.h"
#include "log/notice.h"
#include "log/source.h"

/*
 * Files that OTP's trace port driver wrote (dbg, ttb, the original Inviso), as
 * a feed: one file, or the files of a wrap set in the order in which they were
 * written (log/wrapset.h).  The order of the records is kept; a record without
 * a timestamp has the time of the one before it.
 */

/* Takes the sources (an array from malloc), also when it fails; borrows node
 * and notices. */
int inv_tracefile_new(struct inv_feed **feed, struct inv_source *sources,
		      uint32_t n_sources, const struct inv_node *node,
		      struct inv_notices *notices, struct inv_err *err);

/* What the first sound record of a framed file says of it. */
struct inv_tracefile_info {
	bool is_trace; /* trace events */
	bool is_ti;    /* aliases */
	bool timed;    /* ts_ns is set: of the first record with a timestamp */
	int64_t ts_ns;
	char *node; /* of the first pid in it, or NULL; the caller frees it */
};

/* Looks at the first records only.  INV_ENOMEM. */
int inv_tracefile_probe(const struct inv_source *src,
			struct inv_tracefile_info *info);

#endif
