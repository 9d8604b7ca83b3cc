/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_LOOP_H
#define INV_SPOOL_LOOP_H

#include "base/err.h"
#include "spool/attach.h"

/*
 * The main loop of the spooler: when to drain, what to watch, when to exit.
 *
 * While the tracer is open, the spooler drains full packets each drain_ms, or
 * each 100 ms if there are no events. It drains open packets each flush_ms. It
 * drains a flight recorder (keep => newest) only on request.
 *
 * The spooler exits on SIGTERM, and when the tracer is closed, its owner has
 * died, or the VM has died. Before it exits, it drains the rings once more.
 *
 * If the log cannot be written, the spooler tries again each 100 ms. If it must
 * exit, it still tries for 5 s. After these 5 s, if the tracer has ended,
 * events that are left in memory count as unwritten, and events that are left
 * in a ring file stay there.
 *
 * The end of standard input has one of two causes: the keeper has died, or only
 * the port was closed. If the keeper still takes anchors, it is alive and will
 * start another spooler, so this spooler exits. Otherwise this spooler
 * continues, because no process will start another spooler.
 *
 * Each byte on standard input wakes the spooler up, so that a flush or a close
 * need not wait for the spooler's timer.
 */
struct inv_serve {
	int wake_fd; /* standard input, if the keeper started this program as a
			port; otherwise -1 */
	int term_fd; /* signalfd of SIGTERM; -1: none */
};

/*
 * Runs the loop. Returns the exit status: 0 if all events are in the log or
 * another spooler will continue, otherwise 1.
 */
int inv_spool_serve(struct inv_attached *mem, const struct inv_serve *how);

/* Stores in the control page, for the keeper, that the log could not be opened,
 * and why. */
void inv_spool_failed(struct inv_ring_ctl *ctl, const struct inv_err *err);

#endif
