/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_ABOUT_H
#define INV_LOG_ABOUT_H

#include "abi/log.h"
#include "base/err.h"
#include "log/notice.h"
#include "log/scan.h"

/* What the head of a log's file says. */
struct inv_log_about {
	struct inv_log_head head;
	bool damaged; /* its sum is wrong */
	char *node;   /* UTF-8; owned, as are the next three; never NULL */
	char *otp_release;
	char *erts_version;
	char *os_pid;
};

/* No head is longer; nor is it looked further for the first packet to tell
 * whether a file with a ruined head is a log. */
#define INV_LOG_HEAD_MAX (64u * 1024)

/* Whether the bytes, which are a file's first ones, start like a log. */
bool inv_log_about_is(const struct inv_scan_bytes *b);

/*
 * Reads what can be read of the head; *start is where to look for packets.
 * INV_END: more bytes have to come first.  INV_EFORMAT, INV_EVERSION,
 * INV_ENOMEM.  Released by the caller, also when it fails.
 */
int inv_log_about_read(struct inv_log_about *a, const struct inv_scan_bytes *b,
		       const char *name, struct inv_notices *ns,
		       uint64_t *start, struct inv_err *err);
void inv_log_about_release(struct inv_log_about *a);

#endif
