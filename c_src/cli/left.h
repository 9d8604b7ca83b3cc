/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_LEFT_H
#define INV_CLI_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "node/name.h"

/*
 * A recording of this user that a dead node left in its place, a directory on
 * this machine (spool/place.h).
 */
struct inv_left {
	char *node;  /* name of the dead node, such as shop@vm */
	char *name;  /* name of the recording */
	char *place; /* path of the node's place, PARENT/inviso-... */
	char *room;  /* name of the recording's room in the place, such as
			room-1 */
	char *ring;  /* path of a ring file in the same room, for `inviso
			recover'; NULL: none */
	int32_t os_pid;
	uint64_t bytes;
	int64_t since;	 /* Unix time: when inviso attached to the node */
	int64_t written; /* Unix time: when the log was last written */
};

struct inv_lefts {
	struct inv_left *v;
	size_t n;
};

/*
 * Finds the recordings in TMPDIR, /tmp, /var/tmp and dir (NULL: none), newest
 * first. The caller releases out. Returns 0 or INV_ENOMEM.
 */
int inv_lefts_find(struct inv_lefts *out, const char *dir);
void inv_lefts_release(struct inv_lefts *l);

/* Returns true if a node of that name left the recording. */
bool inv_left_is_of(const struct inv_left *l, const struct inv_node_name *node);

/*
 * Copies the recording's log to dir/NODE-NAME.log. Until the copy is complete,
 * its name ends with .part (node/part.h). Then, if keep is false and l->ring is
 * NULL, removes the original, and the place if it is empty. Waits up to 8
 * seconds for a spooler that is completing the log. Returns 0, INV_EIO,
 * INV_ENOMEM, or INV_EBUSY if a spooler or another command is using the log, or
 * if the file exists.
 */
int inv_left_copy(const struct inv_left *l, const char *dir, bool keep,
		  struct inv_err *err);

/*
 * Finds a recording of a node that is dead or dying on this machine, by the
 * log's path on the node. Waits up to 3 seconds for the node's death. Returns
 * false if there is no such recording. Release out with inv_left_release.
 */
bool inv_left_find_log(struct inv_left *out, const char *node, const char *log);
void inv_left_release(struct inv_left *l);

/* Appends a Unix time as "2026-11-22 15:12:03", local time. */
void inv_left_put_time(struct inv_buf *b, int64_t time);
/* Appends the three lines that `inviso status' prints for the recording. */
void inv_left_put_text(struct inv_buf *b, const struct inv_left *l,
		       const struct inv_lefts *all);
/* Appends {"name":"box",...}. */
void inv_left_put_json(struct inv_json *j, const char *key,
		       const struct inv_left *l);

#endif
