/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_JOURNAL_H
#define INV_RING_JOURNAL_H

#include <stdint.h>

#include "abi/ring.h"
#include "ring/consumer.h"

/*
 * Moves the positions in ring and log together, even if the spooler dies at any
 * instruction:
 *
 *  1. the spooler writes the bytes to the log file, after log_off
 *  2. it stores the new positions in the journal and sets `valid'
 *  3. it copies the new positions to the ring and the control page
 *  4. it clears `valid'
 *
 * If the spooler died before step 2, its successor truncates the file to
 * log_off and takes the packet from the ring again. If the spooler died later,
 * the successor repeats step 3 with inv_journal_redo().
 */

/* The state of the log. The control page has fields of the same names. */
struct inv_log_pos {
	uint32_t file;
	uint64_t off;
	uint64_t bytes;
	uint64_t anchors;
};

#define INV_JOURNAL_NO_RING UINT32_MAX

void inv_log_pos_load(const struct inv_ring_ctl *ctl, struct inv_log_pos *log);

/* Does steps 2 to 4. If `ring' is INV_JOURNAL_NO_RING, `pos' is not used. */
void inv_journal_commit(struct inv_ring_ctl *ctl, uint32_t ring,
			const struct inv_ring_pos *pos,
			const struct inv_log_pos *log);

/*
 * Does steps 3 and 4 if a predecessor died before it completed them. `n_rings'
 * is the checked number of rings; a journal entry for a ring beyond them is
 * ignored.
 */
void inv_journal_redo(struct inv_ring_ctl *ctl, uint32_t n_rings);

#endif
