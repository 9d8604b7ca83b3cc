/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_OUTPUT_H
#define INV_SINK_OUTPUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Where a sink's text goes: a descriptor or a file. A new file gets its name
 * only when it is complete.
 */
struct inv_output {
	struct inv_buf buf; /* sinks append here */
	bool broken;	    /* the reader has closed the pipe (EPIPE) */
	char *tmp;	    /* path of the incomplete file or directory, in
			       the directory of `path'; NULL: none */
	/*
	 * Flow control on a pipe: an empty record ends each part of the output
	 * (see sink/etf.c), and each byte on standard input releases another
	 * part. The first two parts need no byte. The end of standard input
	 * means that the reader has ended.
	 */
	bool paced;
	/* private */
	bool ahead; /* true after the first part was sent: the second and each
		     * later part is followed by a wait for a byte */
	int fd;
	char *path; /* final path of the file; NULL: the caller gave a
		       descriptor */
};

/* Borrows fd. */
void inv_output_fd(struct inv_output *o, int fd);
/*
 * Creates a file with mode 0600, because arguments of traced calls can be
 * confidential. If path exists and is not a regular file (/dev/null, a FIFO),
 * writes to it directly.
 */
int inv_output_file(struct inv_output *o, const char *path,
		    struct inv_err *err);
/*
 * Creates an empty file with mode 0600, or a directory with mode 0700, for a
 * format that writes its files itself (sink/sink.h). The path of the new file
 * or directory is o->tmp. `path' may already exist: as a regular file or, if
 * `directory' is true, as an empty directory.
 */
int inv_output_path(struct inv_output *o, const char *path, bool directory,
		    struct inv_err *err);

/* Writes out the buffer if it has reached INV_OUTPUT_FULL bytes. */
#define INV_OUTPUT_FULL (1024u * 1024)
int inv_output_flush_if_full(struct inv_output *o, struct inv_err *err);

/*
 * If complete is true, writes out the buffer and gives the file its final name.
 * Otherwise deletes the new file, and does not change an older file with the
 * final name.
 */
int inv_output_close(struct inv_output *o, bool complete, struct inv_err *err);

#endif
