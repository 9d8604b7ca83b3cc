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
 * The bytes of one input: a file, or memory of the caller (for a log that
 * arrives, and in tests). A file is read piece by piece (log/window.h), so
 * memory use does not depend on its size.
 *
 * A file is read up to the size that it had when it was opened, even if it
 * grows later. A file can also be truncated while it is read, for example if a
 * new spooler continues it from an earlier position. If bytes are missing for
 * this reason, or cannot be read because the disk fails, they are read as
 * zeros, which fail every checksum. inv_source_tell_cuts reports such files.
 */
struct inv_source_file;

struct inv_source {
	uint64_t begin; /* offset of the first byte that is available. It is 0,
			   except in a log that arrives: the earlier bytes of
			   such a log were freed */
	uint64_t size;	/* offset of the end */
	bool growing;	/* more bytes may follow */
	const uint8_t *data;	      /* points to the byte at `begin'; NULL:
				       * the source is a file */
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

/* Returns true if an open source is the file with this device number and this
 * inode number. */
bool inv_source_has(dev_t dev, ino_t ino);

/* Call it if the bytes at off have changed since they were first read. The file
 * then counts as truncated at off. */
void inv_source_changed(const struct inv_source *s, uint64_t off);

/* Makes a notice of damage for each open file that was truncated since it was
 * opened. */
void inv_source_tell_cuts(struct inv_notices *ns);

#endif
