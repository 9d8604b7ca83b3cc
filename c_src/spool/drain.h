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
 * From rings to log, without any policy of when (spool/loop.h has that).
 *
 * Whatever fails in between leaves ring and log as they were: the same call
 * again continues.  So does another process after this one was killed
 * (ring/journal.h).
 */
struct inv_spool {
	struct inv_attached *mem; /* borrowed */
	struct inv_consumer *rings;
	struct inv_log_writer log;
	struct inv_files files;
	struct inv_log_pos at;
	struct inv_anchor anchor; /* the last one seen; mono 0: none */
	uint64_t file_since_ns;
	uint64_t rotate_after_ns; /* not before, after a failure */
	bool file_has_events;
};

/*
 * Redoes what a predecessor left half done, then goes on with its log file, or
 * creates the first.  Path and the rest are read from the control page.
 *
 * A log that was begun and cannot be gone on with just now is no failure here:
 * err has the reason (else its code is 0), and each call that writes tries
 * again.
 */
int inv_spool_open(struct inv_spool *s, struct inv_attached *mem,
		   struct inv_err *err);

/* The same, but only where there is a file to go on with. */
int inv_spool_open_again(struct inv_spool *s, struct inv_attached *mem,
			 struct inv_err *err);

/* The same into a new file at path, whatever file was written before. */
int inv_spool_open_at(struct inv_spool *s, struct inv_attached *mem,
		      const char *path, struct inv_err *err);

void inv_spool_close(struct inv_spool *s);

/*
 * One pass over all rings: everything up to the packets open at its beginning;
 * of those, what take (enum inv_take) says.  *n_events are what it wrote,
 * *behind whether some ring filled more than half meanwhile.  Anchors: those
 * that are needed to read what was written; always the newest if asked.
 */
int inv_spool_drain(struct inv_spool *s, unsigned take, bool anchor,
		    uint64_t *n_events, bool *behind, struct inv_err *err);

/* Only the anchors that say something new. */
int inv_spool_drain_anchors(struct inv_spool *s, struct inv_err *err);

/* Everything still in the rings will not be written: INV_LOSS_UNWRITTEN. */
void inv_spool_give_up(struct inv_spool *s);

/*
 * Ends the log, or a part of it (abi/log.h), with the streams' totals.  At
 * the true endings they count all that was ever offered; at the others, what
 * has left the rings.
 */
int inv_spool_finish(struct inv_spool *s, enum inv_log_end why,
		     struct inv_err *err);

/* What became of a ring's events; after a true ending, of all of them. */
void inv_spool_totals(const struct inv_spool *s, uint32_t ring,
		      struct inv_log_totals *t);

#endif
