/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_SET_H
#define INV_LOG_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "log/feed.h"
#include "log/file.h"

/*
 * Makes a feed (log/reader.h) of a log in files. `files' are the files of the
 * log, which all have the same uuid. The feed reads them in the order of their
 * numbers, as if they were one file. The first files may be missing, because
 * rotation deleted them.
 *
 * Each stream has its own cursor, and has one packet in memory. So memory use
 * depends on the number of streams, not on the size of the log. The only
 * exception is the index of log/file.h, which has 8 bytes for each packet.
 *
 * `files' is an array from malloc. The feed owns the array, and everything that
 * its entries own, from now on, even on failure. If a file occurs twice, the
 * feed drops one copy. Notices report missing files, and how the log ends. The
 * feed borrows `node' and `notices'.
 */
int inv_log_set_new(struct inv_feed **feed, struct inv_log_file *files,
		    uint32_t n_files, const struct inv_node *node,
		    struct inv_notices *notices, struct inv_err *err);

/*
 * Reports how a log ends, unless its tracer was closed. `last' is the head of
 * the log's last packet, all zero if there is none. Returns false if the end of
 * the log is missing: events after this packet may then be missing, too.
 */
bool inv_log_check_end(const struct inv_log_packet *last, const char *file,
		       struct inv_notices *ns);

#endif
