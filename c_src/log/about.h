/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_ABOUT_H
#define INV_LOG_ABOUT_H

#include "abi/log.h"
#include "base/err.h"
#include "log/notice.h"
#include "log/scan.h"

/* The contents of the head of a log file. */
struct inv_log_about {
	struct inv_log_head head;
	bool damaged; /* the checksum is wrong */
	char *node;   /* UTF-8; this and the next three are owned by this struct
			 and never NULL */
	char *otp_release;
	char *erts_version;
	char *os_pid;
};

/*
 * The maximum length of a head. A file with a damaged head counts as a log if a
 * packet starts within this length.
 */
#define INV_LOG_HEAD_MAX (64u * 1024)

/* Returns true if the window's source starts like a log. Windows passed to the
 * functions of this file must have INV_SCAN_WINDOW bytes. */
bool inv_log_about_is(struct inv_window *w);

/*
 * Reads as much of the head as possible, and sets *start to the offset at which
 * to search for packets. Returns 0, INV_EFORMAT, INV_EVERSION or INV_ENOMEM.
 * Returns INV_END if more bytes of a growing source are needed. The caller must
 * call inv_log_about_release, also after an error.
 */
int inv_log_about_read(struct inv_log_about *a, struct inv_window *w,
		       struct inv_notices *ns, uint64_t *start,
		       struct inv_err *err);
void inv_log_about_release(struct inv_log_about *a);

#endif
