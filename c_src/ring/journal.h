/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_JOURNAL_H
#define INV_RING_JOURNAL_H

#include <stdint.h>

#include "abi/ring.h"
#include "ring/consumer.h"

/*
 * How ring and log move on together, though the spooler may die at any
 * instruction:
 *
 *	1. the bytes are written to the log file, past log_off
 *	2. the journal gets the new values, and is declared valid
 *	3. the new values are stored where they belong
 *	4. the journal is declared invalid
 *
 * Died before 2: the file is cut back to log_off, and the packet is taken from
 * the ring again.  Died later: inv_journal_redo() does step 3 again.
 */

/* Where the log stands; the control page's fields of the same names. */
struct inv_log_pos {
	uint32_t file;
	uint64_t off;
	uint64_t bytes;
	uint64_t anchors;
};

#define INV_JOURNAL_NO_RING UINT32_MAX

void inv_log_pos_load(const struct inv_ring_ctl *ctl, struct inv_log_pos *log);

/* Steps 2 to 4.  ring may be INV_JOURNAL_NO_RING, then pos is not used. */
void inv_journal_commit(struct inv_ring_ctl *ctl, uint32_t ring,
			const struct inv_ring_pos *pos,
			const struct inv_log_pos *log);

/* Steps 3 and 4 of a predecessor, if it died between.  n_rings: as checked;
 * a journal that speaks of another ring is dropped. */
void inv_journal_redo(struct inv_ring_ctl *ctl, uint32_t n_rings);

#endif
