/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_DRAIN_H
#define INV_SPOOL_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/err.h"
#include "log/writer.h"
#include "ring/consumer.h"
#include "ring/journal.h"
#include "spool/attach.h"
#include "spool/files.h"

/*
 * Moves events from the rings to the log. spool/loop.h decides when.
 *
 * If a function fails, ring and log are unchanged, and the caller can repeat
 * the call later. If this process is killed, its successor continues
 * (ring/journal.h).
 */
struct inv_spool {
	struct inv_attached *mem; /* borrowed */
	struct inv_consumer *rings;
	struct inv_log_writer log;
	struct inv_files files;
	struct inv_log_pos at;
	struct inv_anchor anchor; /* the newest anchor seen; mono 0: none yet */
	uint64_t file_since_ns;
	uint64_t rotate_after_ns; /* after a failed rotation: no new attempt
				     before this time */
	bool file_has_events;
};

/*
 * Completes the journal entry of a predecessor. Then continues its log file, or
 * creates the first one. Reads path and options from the control page.
 *
 * If an existing log cannot be continued at the moment, returns 0 with the
 * reason in err, and each call that writes tries again. Otherwise err's code is
 * 0 after success.
 */
int inv_spool_open(struct inv_spool *s, struct inv_attached *mem,
		   struct inv_err *err);

/* Like inv_spool_open, but fails if there is no file to continue. */
int inv_spool_open_again(struct inv_spool *s, struct inv_attached *mem,
			 struct inv_err *err);

/* Like inv_spool_open, but always creates a new file at path. */
int inv_spool_open_at(struct inv_spool *s, struct inv_attached *mem,
		      const char *path, struct inv_err *err);

void inv_spool_close(struct inv_spool *s);

/*
 * One pass over all rings. Takes all events up to the packets that were open
 * when the pass began; `take', flags of enum inv_take, says whether to take the
 * events of these packets, too. Sets *n_events to the number of events written,
 * and *behind to true if a ring was more than half full. Writes the anchors
 * that these events need. If `anchor' is true, writes the newest anchor in any
 * case.
 */
int inv_spool_drain(struct inv_spool *s, unsigned take, bool anchor,
		    uint64_t *n_events, bool *behind, struct inv_err *err);

/* Writes the anchors that carry new information, and no events. */
int inv_spool_drain_anchors(struct inv_spool *s, struct inv_err *err);

/* Counts all events still in the rings as INV_LOSS_UNWRITTEN, and skips
 * them. */
void inv_spool_give_up(struct inv_spool *s);

/*
 * Writes the streams' totals, which end the log or a part of it (enum
 * inv_log_end). If they end the log, they account for all events ever produced;
 * otherwise for the events that have left the rings.
 */
int inv_spool_finish(struct inv_spool *s, enum inv_log_end why,
		     struct inv_err *err);

/* Sets *t to the totals of one ring. They include all its events if the log
 * has ended, and otherwise the events that have left the ring. */
void inv_spool_totals(const struct inv_spool *s, uint32_t ring,
		      struct inv_log_totals *t);

#endif
