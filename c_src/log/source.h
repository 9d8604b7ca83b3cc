/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_SOURCE_H
#define INV_LOG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#include "log/notice.h"

/*
 * The bytes of one input: a file, or memory of the caller (a log that arrives,
 * tests, fuzzing). A file is read piece by piece (log/window.h), so its size
 * does not matter for memory.
 *
 * A file that grows after it was opened is read up to its size at opening. If a
 * file is truncated while it is read (for example because a new spooler
 * continues from an earlier position), or its disk fails, the missing bytes are
 * read as zeros, which fail every checksum. inv_source_tell_cuts reports it.
 */
struct inv_source_file;

struct inv_source {
	uint64_t begin; /* offset of the first byte; not 0 only in a log that
			   arrives, whose earlier bytes are gone */
	uint64_t size;	/* offset of the end */
	bool growing;	/* more bytes may follow */
	const uint8_t *data;	      /* the byte at `begin'; NULL: a file */
	char *name;		      /* name for messages */
	struct inv_source_file *file; /* owned; NULL: memory of the caller */
};

/* Opens a regular file. */
int inv_source_open(struct inv_source *s, const char *path,
		    struct inv_err *err);

/* Makes a source of the bytes at p, which it borrows until inv_source_close. */
int inv_source_memory(struct inv_source *s, const char *name, const void *p,
		      size_t size);

void inv_source_close(struct inv_source *s);

/* Copies the n bytes at off, which must be in the source, to out. */
void inv_source_copy(const struct inv_source *s, uint64_t off, void *out,
		     size_t n);

/* Returns true if an open source is this file. */
bool inv_source_has(dev_t dev, ino_t ino);

/* Call it if the bytes at off have changed since they were read before. They
 * are then reported like a truncation. */
void inv_source_changed(const struct inv_source *s, uint64_t off);

/* Reports each open file that was truncated since it was opened, as damage. */
void inv_source_tell_cuts(struct inv_notices *ns);

#endif
