/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_SET_H
#define INV_LOG_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "log/feed.h"
#include "log/file.h"

/*
 * A log in files, as a feed (log/reader.h): the files of one uuid, in the order
 * of their numbers, read as if they were one file. The first files may be
 * missing, because rotation deleted them.
 *
 * Each stream has a cursor of its own, and holds one packet. So memory use
 * depends on the number of streams, except for the 8 bytes that log/file.h keeps
 * for each packet.
 *
 * Makes a feed, which owns `files' from now on, even on failure: an array from
 * malloc, and everything that its entries own. If a file occurs twice, drops
 * one copy. Reports missing files and how the log ends. Borrows `node' and
 * `notices'.
 */
int inv_log_set_new(struct inv_feed **feed, struct inv_log_file *files,
		    uint32_t n_files, const struct inv_node *node,
		    struct inv_notices *notices, struct inv_err *err);

/*
 * Reports how a log ends, unless its tracer was closed. `last' is the head of
 * the log's last packet, all zero if there is none. Returns false if the log
 * has no end, so that later events may be missing.
 */
bool inv_log_check_end(const struct inv_log_packet *last, const char *file,
		       struct inv_notices *ns);

#endif
