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
 * The bytes of one input: a mapped file, or memory of the caller (tests,
 * fuzzing).
 *
 * A file that grows after it was opened is read up to its size at opening. If a
 * file is truncated (for example because a new spooler continues from an
 * earlier position), access to the missing pages raises SIGBUS. The program's
 * signal handler then calls inv_source_patch. Reading continues with zeros,
 * which fail every checksum, and inv_source_tell_cuts reports the truncation.
 */
struct inv_source_map;

struct inv_source {
	const uint8_t *data;
	size_t size;
	char *name;		    /* name for messages */
	struct inv_source_map *map; /* owned; NULL: memory of the caller */
};

/* Opens a regular file. */
int inv_source_open(struct inv_source *s, const char *path,
		    struct inv_err *err);

/* Makes a source of the bytes at p, which it borrows until inv_source_close. */
int inv_source_memory(struct inv_source *s, const char *name, const void *p,
		      size_t size);

void inv_source_close(struct inv_source *s);

/* Returns true if an open source maps this file. Empty files are not mapped. */
bool inv_source_has(dev_t dev, ino_t ino);

/*
 * Call it from the handler of SIGBUS with the fault address. Returns true if p
 * is in an open source. From p's page on, that source then has zeros, so the
 * handler can return.
 */
bool inv_source_patch(const void *p);

/* Call it if the bytes at off have changed since they were read before. They
 * are then reported like a truncation. */
void inv_source_changed(const struct inv_source *s, size_t off);

/* Reports each open file that was truncated since it was opened, as damage. */
void inv_source_tell_cuts(struct inv_notices *ns);

#endif
