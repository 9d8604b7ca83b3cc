/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_FILES_H
#define INV_SPOOL_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/err.h"

/*
 * The files of a log: path, or path.0, path.1, … with rotation. The functions
 * follow no links. They remove only regular files of this user. If a spooler is
 * writing a file, they return INV_EBUSY instead of removing it. A returned
 * descriptor is locked (flock); the lock shows other programs that a spooler is
 * writing the file.
 */
struct inv_files {
	char path[INV_PATH_LEN];
	bool rotates;
	uint8_t uuid[16];
};

#define INV_FILE_NAME_LEN (INV_PATH_LEN + 12)

void inv_files_name(const struct inv_files *fs, uint32_t number,
		    char name[INV_FILE_NAME_LEN]);

/*
 * Which existing file a new file may replace. An earlier spooler can have
 * created a file just before it died.
 */
enum inv_leftover {
	INV_LEFTOVER_NONE,
	INV_LEFTOVER_EMPTY, /* an empty file */
	INV_LEFTOVER_OURS,  /* an empty file, or one with this log's uuid */
};

/* Creates the file with this number, with mode 0600. Returns its descriptor, or
 * a negative error code. */
int inv_files_create(const struct inv_files *fs, uint32_t number,
		     enum inv_leftover leftover, struct inv_err *err);

/*
 * Opens an existing file and stores its length in *len. Returns its descriptor,
 * or INV_EFORMAT if the file has the uuid of another log, INV_ETRUNCATED if it
 * is empty, INV_EIO with err->sys ENOENT if it does not exist.
 */
int inv_files_reopen(const struct inv_files *fs, uint32_t number, uint64_t *len,
		     struct inv_err *err);

/* Removes a file if it has this log's uuid or is empty. If the file does not
 * exist, does nothing and returns 0. */
int inv_files_remove(const struct inv_files *fs, uint32_t number,
		     struct inv_err *err);

/*
 * Removes the files of an earlier log at these paths. With rotation, removes
 * only files that belong to a log or are empty. If another spooler is writing
 * one of them, waits up to 2 s for it to end: a spooler ends soon after its
 * tracer was closed.
 */
int inv_files_clear(const struct inv_files *fs, struct inv_err *err);

#endif
