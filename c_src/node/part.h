/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_PART_H
#define INV_NODE_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * A file that is being fetched. Until it is complete, its name is NAME.part.
 *
 * The file is locked while it is open. If a program ends before its part is
 * complete, another program can continue the part. Only regular files of this
 * user are opened. Links are not followed, and no other file is overwritten.
 */
struct inv_part {
	int dir;
	int fd;
	char name[256]; /* name of the complete file */
	char part[256];
	uint64_t size; /* bytes fetched so far */
};

/*
 * Opens the part of the file `name', whose size is `whole', in the directory
 * `dir', a borrowed descriptor. Returns 0 if `p' is open; p->size is then the
 * number of bytes from an earlier fetch. INV_END: the complete file exists and
 * has this size. INV_EBUSY: the complete file exists and has another size, or
 * another program is fetching it. INV_ETOOBIG: the name is too long. INV_EIO:
 * other failures.
 */
int inv_part_open(struct inv_part *p, int dir, const char *prefix,
		  const char *name, uint64_t whole, struct inv_err *err);

/*
 * Reads the last `len' bytes of the part, which must have at least `len' bytes.
 * Returns 0 or INV_EIO.
 */
int inv_part_tail(const struct inv_part *p, void *buf, size_t len,
		  struct inv_err *err);

/*
 * Truncates the part to 0 bytes, because the whole file is to be fetched again.
 */
int inv_part_reset(struct inv_part *p, struct inv_err *err);
int inv_part_append(struct inv_part *p, const void *bytes, size_t len,
		    struct inv_err *err);

/* Syncs the part to the disk and renames it to the complete file's name. */
int inv_part_finish(struct inv_part *p, struct inv_err *err);

/* Closes the part, whose bytes stay on the disk. Does nothing if fd is -1. */
void inv_part_close(struct inv_part *p);

#endif
