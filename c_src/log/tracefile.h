/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_TRACEFILE_H
#define INV_LOG_TRACEFILE_H

#include "base/err.h"
#include "log/feed.h"
#include "log/notice.h"
#include "log/source.h"

/*
 * Files that OTP's trace port driver wrote (for dbg, ttb, or the original
 * Inviso), as a feed: one file, or the files of a wrap set in the order in
 * which they were written (log/wrapset.h). The order of the records is kept. A
 * record without a timestamp gets the time of the previous record.
 */

/*
 * Makes a feed, which owns `sources' (an array from malloc) from now on, also
 * on failure. Borrows `node' and `notices'.
 */
int inv_tracefile_new(struct inv_feed **feed, struct inv_source *sources,
		      uint32_t n_sources, const struct inv_node *node,
		      struct inv_notices *notices, struct inv_err *err);

/* What the first valid records (log/record.h) of a file show about it. */
struct inv_tracefile_info {
	bool is_trace; /* the file has trace events */
	bool is_ti;    /* the file is a ti file: it has entries with aliases */
	bool timed;    /* ts_ns is valid */
	int64_t ts_ns; /* the first timestamp in the file */
	char *node;    /* node name of the first pid, or NULL; the caller frees
		       it */
};

/* Reads only the first records. Returns 0 or INV_ENOMEM. */
int inv_tracefile_probe(const struct inv_source *src,
			struct inv_tracefile_info *info);

#endif
