/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FILE_H
#define INV_LOG_FILE_H

#include "abi/log.h"
#include "base/err.h"
#include "log/notice.h"
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
	struct inv_log_head head;
	char *node; /* UTF-8; owned, as are the next three; never NULL */
	char *otp_release;
	char *erts_version;
	char *os_pid;
	struct inv_log_gap *gaps;
	size_t n_gaps;
	/* from the survey */
	uint64_t n_packets;
	uint64_t n_events;
	uint32_t n_streams; /* highest number seen, and one */
	uint64_t first_ns;  /* earliest begin_ns; UINT64_MAX: no events */
	uint32_t last_type; /* of the last packet; 0: none */
	uint32_t last_end;  /* enum inv_log_end when last_type is TOTALS */
};

/* Whether the bytes start like a log. */
bool inv_log_is(const struct inv_source *src);

/* Takes src, also when it fails.  INV_EFORMAT when it is not a log at all. */
int inv_log_file_open(struct inv_log_file *f, struct inv_source *src,
		      struct inv_notices *ns, struct inv_err *err);
void inv_log_file_close(struct inv_log_file *f);

/* A position among the packets of a file; start with INV_LOG_CURSOR. */
struct inv_log_cursor {
	uint64_t off;
	size_t gap; /* the next gap at or after off */
};

/* The packet at the cursor; moves the cursor past it. */
struct inv_log_place {
	struct inv_log_packet head;
	uint64_t off;	     /* of the head in the file */
	const uint8_t *body; /* head.body_len bytes, in the source; NULL: they
				are not all there, or damaged */
	bool damaged;	     /* the survey found it so */
};

void inv_log_cursor_init(struct inv_log_cursor *c,
			 const struct inv_log_file *f);
/* 0 or INV_END. */
int inv_log_cursor_next(struct inv_log_cursor *c, const struct inv_log_file *f,
			struct inv_log_place *at);
/*
 * As above, but steps over EVENTS of streams other than stream and over
 * ANCHORS, reading only a few bytes of them.
 */
int inv_log_cursor_seek(struct inv_log_cursor *c, const struct inv_log_file *f,
			uint32_t stream, struct inv_log_place *at);
/* The next ANCHORS packet. */
int inv_log_cursor_anchors(struct inv_log_cursor *c,
			   const struct inv_log_file *f,
			   struct inv_log_place *at);

#endif
