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
 * The bytes of one input: a file, mapped as it is at the time of opening, or
 * a block of memory of the caller's (tests, fuzzing).
 *
 * A file that grows meanwhile is read up to the size that it had.  One that is
 * cut meanwhile (its writer went on from an earlier place, say) raises SIGBUS
 * on access: the program's handler calls inv_source_patch, reading goes on
 * with zeros, which no checksum fits, and inv_source_tell_cuts reports it.
 */
struct inv_source_map;

struct inv_source {
	const uint8_t *data;
	size_t size;
	char *name;		    /* as shown in messages */
	struct inv_source_map *map; /* owned; NULL: memory of the caller's */
};

/* Opens a regular file. */
int inv_source_open(struct inv_source *s, const char *path,
		    struct inv_err *err);

/* Borrows p until inv_source_close. */
int inv_source_memory(struct inv_source *s, const char *name, const void *p,
		      size_t size);

void inv_source_close(struct inv_source *s);

/* Whether it is this file that a source has open; an empty one does not count. */
bool inv_source_has(dev_t dev, ino_t ino);

/*
 * For a handler of SIGBUS, at address p: true when p lies in a source that is
 * open, which from that page on now has zeros, so that the handler can return.
 */
bool inv_source_patch(const void *p);

/* What is at off is not what was there before. */
void inv_source_changed(const struct inv_source *s, size_t off);

/* Reports, as damage, all that is open and was cut since it was opened. */
void inv_source_tell_cuts(struct inv_notices *ns);

#endif
