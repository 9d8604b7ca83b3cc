/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_FILES_H
#define INV_SPOOL_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/err.h"

/*
 * The names of a log's files: path, or path.0, path.1, … when it rotates.  No
 * link is followed, and nothing is removed that is not a regular file of this
 * user, or that a spooler writes: INV_EBUSY.  The descriptors that these return
 * carry the lock (flock) by which others know.
 */
struct inv_files {
	char path[INV_PATH_LEN];
	bool rotates;
	uint8_t uuid[16];
};

#define INV_FILE_NAME_LEN (INV_PATH_LEN + 12)

void inv_files_name(const struct inv_files *fs, uint32_t number,
		    char name[INV_FILE_NAME_LEN]);

/* What gives way to a new file: a predecessor died before it could say that it
 * made it. */
enum inv_leftover {
	INV_LEFTOVER_NONE,
	INV_LEFTOVER_EMPTY, /* it wrote nothing there */
	INV_LEFTOVER_OURS,  /* or something with our uuid */
};

/* A new file, mode 0600; its descriptor, or a negative code. */
int inv_files_create(const struct inv_files *fs, uint32_t number,
		     enum inv_leftover leftover, struct inv_err *err);

/*
 * One that was made before; its length is stored in *len.  INV_EFORMAT when it
 * has another uuid, INV_ETRUNCATED when it is empty, INV_EIO with sys ENOENT
 * when it is not there.
 */
int inv_files_reopen(const struct inv_files *fs, uint32_t number, uint64_t *len,
		     struct inv_err *err);

/* Removes one file, if it is there and has our uuid, or nothing in it. */
int inv_files_remove(const struct inv_files *fs, uint32_t number,
		     struct inv_err *err);

/* Removes what an earlier log left under these names; with rotation, only what
 * is of a log, or empty. */
int inv_files_clear(const struct inv_files *fs, struct inv_err *err);

#endif
