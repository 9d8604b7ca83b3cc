/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_RING_JOURNAL_H
#define INV_RING_JOURNAL_H

#include <stdint.h>

#include "abi/ring.h"
#include "ring/consumer.h"

/*
 * Moves the positions in ring and log together. So no event is lost or written
 * twice, even if the spooler dies in one of these steps:
 *
 *  1. the spooler writes the packet to the log file, from offset log_off on
 *  2. it stores the new positions in the journal and sets `valid'
 *  3. it copies the new positions to the ring and the control page
 *  4. it clears `valid'
 *
 * If the spooler died before step 2, its successor truncates the file to
 * log_off and takes the packet from the ring again. If the spooler died between
 * steps 2 and 4, the successor repeats step 3 with inv_journal_redo().
 */

/* The state of the log. In the control page, these fields are log_file,
 * log_off, log_bytes and anchors_done. */
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
 * Does steps 3 and 4 if the previous spooler died before it completed them.
 * `n_rings' is the number of rings that inv_layout_check found; a journal entry
 * for a ring with a higher number is ignored.
 */
void inv_journal_redo(struct inv_ring_ctl *ctl, uint32_t n_rings);

#endif
