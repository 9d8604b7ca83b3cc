/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_SOURCE_H
#define INV_LOG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The bytes of one input: a file, mapped as it is at the time of opening, or
 * a block of memory of the caller's (tests, fuzzing).  A file that grows
 * meanwhile is read up to the size that it had; one that is cut meanwhile
 * raises SIGBUS on access, which the command turns into a message.
 */
struct inv_source {
	const uint8_t *data;
	size_t size;
	char *name; /* as shown in messages */
	bool mapped;
};

/* Opens a regular file. */
int inv_source_open(struct inv_source *s, const char *path,
		    struct inv_err *err);

/* Borrows p until inv_source_close. */
int inv_source_memory(struct inv_source *s, const char *name, const void *p,
		      size_t size);

void inv_source_close(struct inv_source *s);

#endif
