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
 * Moves events from the rings to the log. The main loop (spool/loop.h) calls
 * these functions.
 *
 * If a function fails, ring and log are unchanged, and the caller can repeat
 * the call later. If the spooler is killed, the next spooler continues without
 * losing or repeating an event (ring/journal.h).
 */
struct inv_spool {
	struct inv_attached *mem; /* borrowed */
	struct inv_consumer *rings;
	struct inv_log_writer log;
	struct inv_files files;
	struct inv_log_pos at;
	struct inv_anchor anchor; /* the newest anchor that was read; if no
				     anchor was read yet, its mono is 0 */
	uint64_t file_since_ns;
	uint64_t rotate_after_ns; /* if a rotation has failed: the next one is
				     not tried before this time */
	bool file_has_events;
};

/*
 * Completes the journal entry that an earlier spooler may have left. Then
 * continues the earlier spooler's log file, or creates the first one. Reads
 * path and options from the control page.
 *
 * If an existing log cannot be continued at the moment, returns 0 with the
 * reason in err, and each later call that writes tries again. If the result is
 * 0 and the log can be written, err's code is 0.
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
 * One pass over all rings. Writes the events of all packets that were closed
 * when the pass began. The flags `take' (enum inv_take) say whether the events
 * of open packets are written, too. Sets *n_events to the number of events
 * written, and *behind to true if a ring was more than half full. Also writes
 * the clock anchors that these events need. If `anchor' is true, always writes
 * the newest anchor, too.
 */
int inv_spool_drain(struct inv_spool *s, unsigned take, bool anchor,
		    uint64_t *n_events, bool *behind, struct inv_err *err);

/* Writes no events, only the anchors that are not in the log yet and tell
 * something new about the clocks. */
int inv_spool_drain_anchors(struct inv_spool *s, struct inv_err *err);

/* Counts all events still in the rings as INV_LOSS_UNWRITTEN, and skips
 * them. */
void inv_spool_give_up(struct inv_spool *s);

/*
 * Writes the totals of all streams. Totals end the log or a part of the log
 * (enum inv_log_end). If they end the log, they count all events that were ever
 * produced; otherwise only the events that are not in the rings any more.
 */
int inv_spool_finish(struct inv_spool *s, enum inv_log_end why,
		     struct inv_err *err);

/* Sets *t to the totals of one ring. If the log has ended, the totals count all
 * events of the ring; otherwise only the events that are not in the ring any
 * more. */
void inv_spool_totals(const struct inv_spool *s, uint32_t ring,
		      struct inv_log_totals *t);

#endif
