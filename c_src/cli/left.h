/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_LEFT_H
#define INV_CLI_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "node/name.h"

/*
 * Recordings that nodes left on this machine when they died: of our own user,
 * in the directories where nodes make their places (spool/place.h).
 */
struct inv_left {
	char *node;  /* shop@vm */
	char *name;  /* of the recording */
	char *place; /* PARENT/inviso-... */
	char *room;  /* room-1 */
	char *ring;  /* a ring file beside it, for `inviso recover'; or NULL */
	int32_t os_pid;
	uint64_t bytes;
	int64_t since;	 /* Unix time: the node was attached to */
	int64_t written; /* the log, last */
};

struct inv_lefts {
	struct inv_left *v;
	size_t n;
};

/*
 * Finds those in TMPDIR, /tmp, /var/tmp and dir (NULL: nowhere else), the
 * newest first; to be released.  INV_ENOMEM.
 */
int inv_lefts_find(struct inv_lefts *out, const char *dir);
void inv_lefts_release(struct inv_lefts *l);

/* Whether it was left by a node of that name. */
bool inv_left_is_of(const struct inv_left *l, const struct inv_node_name *node);

/*
 * Copies its log to DIR/NODE-NAME.log, under the rules of node/part.h, and
 * removes what it is a copy of, with the place if nothing else is in it, unless
 * keep.  Waits some seconds for a spooler that still completes the log.
 * INV_EIO, INV_EBUSY (a spooler or another command is at it, or another file
 * has the name), INV_ENOMEM.
 */
int inv_left_copy(const struct inv_left *l, const char *dir, bool keep,
		  struct inv_err *err);

/*
 * The recording whose log had this path on a node of that name, when the node
 * has died on this machine; waits a moment for it to be dead.  False: there is
 * none.  To be released with inv_left_release.
 */
bool inv_left_find_log(struct inv_left *out, const char *node, const char *log);
void inv_left_release(struct inv_left *l);

/* "2026-11-22 15:12:03" */
void inv_left_put_time(struct inv_buf *b, int64_t time);
/* Three lines of `inviso status'. */
void inv_left_put_text(struct inv_buf *b, const struct inv_left *l,
		       const struct inv_lefts *all);
/* {"name":"box",...} */
void inv_left_put_json(struct inv_buf *b, const struct inv_left *l);

#endif
