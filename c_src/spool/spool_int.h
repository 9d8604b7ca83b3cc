/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_SPOOL_INT_H
#define INV_SPOOL_SPOOL_INT_H

#include "spool/drain.h"

/* Declarations that the files in this directory share to implement struct
 * inv_spool. */

/*
 * log.c: opens and creates files of the log. These functions change the log's
 * position only in *s; the next inv_spool_moved() stores it in the journal.
 */
int inv_spool_log_open(struct inv_spool *s, struct inv_err *err);
int inv_spool_log_create(struct inv_spool *s, uint32_t number,
			 enum inv_leftover leftover, struct inv_err *err);
/* Reopens the file that the earlier spooler was writing. */
int inv_spool_log_reopen(struct inv_spool *s, struct inv_err *err);
/*
 * Continues the log if no file is open, because a rotation failed or the log
 * could not be opened before.
 */
int inv_spool_log_ready(struct inv_spool *s, struct inv_err *err);
/* Begins the next file if the current one is too large or too old. If this
 * fails, the log continues in the current file. */
void inv_spool_log_rotate_if_due(struct inv_spool *s);

/*
 * Commits the bytes that were written to the log since the last call, together
 * with the new position of the ring. If `ring' is INV_JOURNAL_NO_RING, commits
 * only the position of the log.
 */
void inv_spool_moved(struct inv_spool *s, uint32_t ring,
		     const struct inv_ring_pos *pos);

/* anchors.c: writes the new clock anchors, except those that tell nothing new
 * about the clocks. If `newest' is true, always writes the newest anchor. */
int inv_spool_put_anchors(struct inv_spool *s, bool newest,
			  struct inv_err *err);
/* Call it for a new file: writes the keeper's newest anchor into the file, if
 * there is one. */
int inv_spool_repeat_anchor(struct inv_spool *s, struct inv_err *err);

/* totals.c */
int inv_spool_put_totals(struct inv_spool *s, enum inv_log_end why,
			 struct inv_err *err);
uint64_t inv_spool_totals_len(uint32_t n_rings);

#endif
