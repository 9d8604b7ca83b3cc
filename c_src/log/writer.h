/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_WRITER_H
#define INV_LOG_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "abi/log.h"
#include "base/err.h"

/*
 * Writes files of a log (abi/log.h), one at a time, whole packets or nothing:
 * a write that fails leaves the file as it was, so that it can be tried again.
 *
 * A little of the disk is kept allocated past the end, so that the packet that
 * ends a log can be written when the disk is full.
 *
 * Memory is taken at init only.  Nothing is synced: the files are to survive
 * processes, not power cuts.
 */
struct inv_log_writer {
	int fd;	      /* owned; -1: no file */
	uint64_t off; /* where the next packet goes: the file's length */
	/* private */
	uint64_t allocated; /* of the file, from its start */
	uint64_t spare;	    /* to be allocated past the end */
	uint32_t codec;
	size_t body_max;
	void *zstd; /* codec zstd: its context and two buffers */
	uint8_t *raw;
	uint8_t *packed;
	size_t packed_max;
};

/*
 * codec: enum inv_log_codec; level 0: the codec's default.  body_max: of a
 * packet to be compressed, larger ones are stored.  spare: bytes kept for the
 * last packet.
 */
int inv_log_writer_init(struct inv_log_writer *w, uint32_t codec, int level,
			size_t body_max, size_t spare, struct inv_err *err);

/* Closes the file, too. */
void inv_log_writer_release(struct inv_log_writer *w);

/*
 * Goes on with fd at off; takes fd, also when it fails.  What lies behind off
 * is cut off.  INV_ETRUNCATED when the file is shorter than that.
 */
int inv_log_writer_open(struct inv_log_writer *w, int fd, uint64_t off,
			struct inv_err *err);

/* Gives back what was kept allocated, and closes the file. */
void inv_log_writer_close(struct inv_log_writer *w);

/* The texts of a file's head. */
struct inv_log_texts {
	const char *node;
	const char *otp_release;
	const char *erts_version;
	const char *os_pid;
};

/* A new file's head.  magic, version and head_len are filled in. */
int inv_log_writer_head(struct inv_log_writer *w,
			const struct inv_log_head *head,
			const struct inv_log_texts *texts, struct inv_err *err);

/*
 * Appends a packet: the caller's type, stream, n_events, seq, first_event,
 * begin_ns, end_ns, ev_off, def_len and dropped; the rest is filled in.  The
 * body is n pieces, at most two.  INV_EIO, errno in err->sys.
 */
int inv_log_writer_put(struct inv_log_writer *w, struct inv_log_packet *p,
		       const struct iovec *body, int n, struct inv_err *err);

/* The same out of what was kept for it. */
int inv_log_writer_put_last(struct inv_log_writer *w, struct inv_log_packet *p,
			    const struct iovec *body, int n,
			    struct inv_err *err);

#endif
