/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_SPOOL_INT_H
#define INV_SPOOL_SPOOL_INT_H

#include "spool/drain.h"

/* What the files of this room share about struct inv_spool. */

/* log.c: the file being written.  After these the journal has to be told where
 * the log stands now, see inv_spool_moved(). */
int inv_spool_log_open(struct inv_spool *s, struct inv_err *err);
int inv_spool_log_create(struct inv_spool *s, uint32_t number,
			 enum inv_leftover leftover, struct inv_err *err);
/* The file that was being written, again. */
int inv_spool_log_reopen(struct inv_spool *s, struct inv_err *err);
/* Goes on with the log if no file is open: a rotation failed, or it could not
 * be opened before. */
int inv_spool_log_ready(struct inv_spool *s, struct inv_err *err);
/* Goes on in the next file if it is time; if that fails, in this one. */
void inv_spool_log_rotate_if_due(struct inv_spool *s);

/* Makes what was written since the last call good, together with pos of ring
 * (INV_JOURNAL_NO_RING: the log alone). */
void inv_spool_moved(struct inv_spool *s, uint32_t ring,
		     const struct inv_ring_pos *pos);

/* anchors.c */
int inv_spool_put_anchors(struct inv_spool *s, bool newest,
			  struct inv_err *err);
/* At a file's beginning: the latest again, if there is one. */
int inv_spool_repeat_anchor(struct inv_spool *s, struct inv_err *err);

/* totals.c */
int inv_spool_put_totals(struct inv_spool *s, enum inv_log_end why,
			 struct inv_err *err);
uint64_t inv_spool_totals_len(uint32_t n_rings);

#endif
