/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_LOOP_H
#define INV_SPOOL_LOOP_H

#include "base/err.h"
#include "spool/attach.h"

/*
 * The spooler's life: when to drain, whom to watch, when to leave.
 *
 *   state        drains                                    leaves
 *   open         full packets each drain_ms (100 ms when   SIGTERM
 *                nothing happens), open ones each
 *                flush_ms; keep => newest: when asked
 *   closed, or   everything                                at once
 *   owner died
 *   the VM died  everything                                at once
 *   the log can  tries each 100 ms                         5 s after one of
 *   not be                                                 the above; what is
 *   written                                                left is given up, but
 *                                                          stays in a file
 *
 * The end of standard input is a hint only: a port that was closed, or another
 * process that has inherited the pipe, look alike.  If the keeper goes on
 * afterwards it will start another spooler, so this one makes room; else there
 * will be no other, and this one stays.  Any byte on standard input wakes the
 * spooler up, so that a flush or a close need not wait for its timer.
 */
struct inv_serve {
	int wake_fd; /* standard input of a port program; -1: none */
	int term_fd; /* signalfd of SIGTERM; -1: none */
};

/* Exit status: 0 when all is in the log or somebody else goes on, else 1. */
int inv_spool_serve(struct inv_attached *mem, const struct inv_serve *how);

/* Says in the control page that the log could not be opened, and why. */
void inv_spool_failed(struct inv_ring_ctl *ctl, const struct inv_err *err);

#endif
