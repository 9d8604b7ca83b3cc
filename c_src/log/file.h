/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FILE_H
#define INV_LOG_FILE_H

#include "base/err.h"
#include "log/about.h"
#include "log/notice.h"
#include "log/scan.h"
#include "log/source.h"

/*
 * One file of a log (abi/log.h): its head, and the heads of its packets.
 *
 * Opening it surveys the whole file once: every packet head is verified, and
 * what lies between sound packets is remembered as a gap and reported.
 * Afterwards any number of cursors step from head to head, verifying only those
 * they take: memory depends on the damage, not on the packets.
 *
 * The bodies are not looked at here (log/packet.h).
 */
struct inv_log_gap {
	uint64_t off;
	uint64_t len;
};

struct inv_log_file {
	struct inv_source src; /* owned */
	struct inv_log_about about;
	struct inv_log_gap *gaps;
	size_t n_gaps;
	/* from the survey */
	uint64_t n_packets;
	uint64_t n_events;
	uint32_t n_streams; /* highest number seen, and one */
	uint64_t first_ns;  /* earliest begin_ns; UINT64_MAX: no events */
	struct inv_log_packet last; /* head of the last packet; zero: none */
};

/* Whether the bytes start like a log. */
bool inv_log_is(const struct inv_source *src);

/* Takes src, also when it fails.  INV_EFORMAT when it is not a log at all. */
int inv_log_file_open(struct inv_log_file *f, struct inv_source *src,
		      struct inv_notices *ns, struct inv_err *err);
void inv_log_file_close(struct inv_log_file *f);

/* A position among the packets of a file; all zero: before the first. */
struct inv_log_cursor {
	uint64_t off;
	size_t gap; /* the next gap at or after off */
};

/*
 * The next TOTALS packet, or EVENTS of the stream; of what it steps over it
 * reads a few bytes only.  Moves the cursor past it: 0, or INV_END.
 */
int inv_log_cursor_seek(struct inv_log_cursor *c, const struct inv_log_file *f,
			uint32_t stream, struct inv_log_place *at);
/* The next ANCHORS packet. */
int inv_log_cursor_anchors(struct inv_log_cursor *c,
			   const struct inv_log_file *f,
			   struct inv_log_place *at);

#endif
