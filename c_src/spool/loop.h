/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_LOOP_H
#define INV_SPOOL_LOOP_H

#include "base/err.h"
#include "spool/attach.h"

/*
 * The main loop of the spooler: when to drain, what to watch, when to exit.
 *
 *   state        drains                                    exits
 *   open         full packets each drain_ms (100 ms when   on SIGTERM
 *                nothing happens), open ones each
 *                flush_ms; keep => newest: on request
 *   closed, or   everything                                at once
 *   owner died
 *   the VM died  everything                                at once
 *   the log can  tries each 100 ms                         5 s after one of
 *   not be                                                 the above; events
 *   written                                                left in memory count
 *                                                          as unwritten, events
 *                                                          in a ring file stay
 *
 * When standard input ends, the keeper may be alive: perhaps only the port was
 * closed.  If the keeper still takes anchors, it will start another spooler, so
 * this spooler exits.  Otherwise this spooler stays, because no process will
 * start another.
 *
 * Any byte on standard input wakes the spooler up, so that a flush or a close
 * need not wait for its timer.
 */
struct inv_serve {
	int wake_fd; /* standard input, if the keeper started this program as a
			port; otherwise -1 */
	int term_fd; /* signalfd of SIGTERM; -1: none */
};

/*
 * Runs the loop. Returns the exit status: 0 if everything is in the log or
 * another spooler continues, otherwise 1.
 */
int inv_spool_serve(struct inv_attached *mem, const struct inv_serve *how);

/* Stores in the control page that the log could not be opened, and why. */
void inv_spool_failed(struct inv_ring_ctl *ctl, const struct inv_err *err);

#endif
