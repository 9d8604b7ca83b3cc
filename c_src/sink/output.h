/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_OUTPUT_H
#define INV_SINK_OUTPUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Where a sink's text goes: a descriptor, or a file that appears under its
 * name when it is complete, and not before.
 */
struct inv_output {
	struct inv_buf buf; /* sinks append here */
	bool broken;	    /* nobody reads any more: EPIPE */
	char *tmp;	    /* beside the file until it is complete, or NULL */
	/*
	 * After each part that is written comes a record of no length (see
	 * sink/etf.c), and the part after the next waits for a byte on standard
	 * input: of a reader that would otherwise have to take all at once.  At
	 * the end of that nobody reads any more.
	 */
	bool paced;
	/* private */
	bool ahead; /* one part is not asked for */
	int fd;
	char *path; /* NULL: fd was given */
};

/* Borrows fd. */
void inv_output_fd(struct inv_output *o, int fd);
/*
 * The file is its owner's alone (mode 0600): arguments of traced calls are no
 * one else's.  What is no regular file (/dev/null, a FIFO) is written as it is.
 */
int inv_output_file(struct inv_output *o, const char *path,
		    struct inv_err *err);

/* Writes the buffer out if there is much in it. */
int inv_output_flush_if_full(struct inv_output *o, struct inv_err *err);

/*
 * Writes out the rest and gives the file its name; it is left out, and what
 * had that name stays, unless complete.
 */
int inv_output_close(struct inv_output *o, bool complete, struct inv_err *err);

#endif
