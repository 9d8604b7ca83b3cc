/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_WRITER_H
#define INV_LOG_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "abi/log.h"
#include "base/err.h"

/*
 * Writes files of a log (abi/log.h), one at a time. Each call writes a whole
 * packet or nothing: if a write fails, the file is unchanged, so the caller can
 * repeat the call.
 *
 * The writer keeps disk space allocated after the log's last packet. So the
 * packet that ends a log can be written even if the disk is full.
 *
 * Only inv_log_writer_init allocates memory. The writer does not call fsync:
 * the files survive the death of processes, but not a power failure.
 */
struct inv_log_writer {
	int fd;	      /* owned; -1: no file */
	uint64_t off; /* the log's end, where the next packet is written */
	/* private */
	uint64_t allocated; /* allocated bytes of the file, from its start */
	uint64_t spare;	    /* bytes to keep allocated after the log's end */
	uint32_t codec;
	size_t body_max;
	void *zstd; /* codec zstd: context and two buffers */
	uint8_t *raw;
	uint8_t *packed;
	size_t packed_max;
};

/*
 * Initializes *w. `codec' is of enum inv_log_codec; level 0 means the codec's
 * default level. Bodies larger than body_max are stored uncompressed. `spare'
 * bytes of disk space are kept allocated for the last packet.
 */
int inv_log_writer_init(struct inv_log_writer *w, uint32_t codec, int level,
			size_t body_max, size_t spare, struct inv_err *err);

/* Frees the writer's memory, and closes the file. */
void inv_log_writer_release(struct inv_log_writer *w);

/*
 * Truncates the file fd to the length off and continues there. *w owns fd from
 * now on, also on failure. Returns INV_ETRUNCATED if the file is shorter than
 * off.
 */
int inv_log_writer_open(struct inv_log_writer *w, int fd, uint64_t off,
			struct inv_err *err);

/* Frees the spare space and closes the file. */
void inv_log_writer_close(struct inv_log_writer *w);

/* The texts of a file's head. */
struct inv_log_texts {
	const char *node;
	const char *otp_release;
	const char *erts_version;
	const char *os_pid;
};

/* Writes the head of a new file. The caller need not set magic, version and
 * head_len. */
int inv_log_writer_head(struct inv_log_writer *w,
			const struct inv_log_head *head,
			const struct inv_log_texts *texts, struct inv_err *err);

/*
 * Appends a packet. The caller sets type, stream, n_events, seq, first_event,
 * begin_ns, end_ns, ev_off, def_len and dropped in *p; the function sets the
 * other fields. The body consists of n pieces; n is at most 2. Returns INV_EIO
 * if the write failed; err->sys is then errno.
 */
int inv_log_writer_put(struct inv_log_writer *w, struct inv_log_packet *p,
		       const struct iovec *body, int n, struct inv_err *err);

/* Like inv_log_writer_put, but may use the spare space. */
int inv_log_writer_put_last(struct inv_log_writer *w, struct inv_log_packet *p,
			    const struct iovec *body, int n,
			    struct inv_err *err);

#endif
