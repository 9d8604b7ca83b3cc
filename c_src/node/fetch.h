/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_FETCH_H
#define INV_NODE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/inbox.h"
#include "node/session.h"

/*
 * Fetching what a stopped session left, from several nodes at once.
 *
 * A file is written as NAME.part, in chunks of which a few are under way, and
 * gets its name when it is whole and on the disk: what has its name is
 * complete.  If there is a NAME.part, of an earlier time, it is continued: its
 * last 64 KiB are read again from the node and must be the same, else it is
 * begun anew.  (A log's packets have checksums of their own, so that what lies
 * before is checked when it is read.)  A file that has its name already, and
 * the right size, is left as it is.
 *
 * All sessions get a sign of life until the last file is there, however slow
 * the network is.
 *
 * Files are made O_EXCL, opened O_NOFOLLOW, mode 0600.
 */
struct inv_fetch {
	const struct inv_session *session;
	const char *dir;    /* is there */
	const char *prefix; /* put before names: two nodes' files may be called
			       the same; "" */
	/* the results */
	int code;
	struct inv_err err;
	struct inv_session_files files; /* of the session; to be released */
	uint64_t done, total;		/* bytes */
};

/*
 * Called from time to time, all fetches being f[0..n), with their `done' and
 * `total'.
 */
typedef void inv_fetch_progress(void *arg, const struct inv_fetch *f, size_t n);

/*
 * Fetches all; f[i].code says of each how it went.  0; the first of the codes:
 * INV_EIO (here: disk full, …), INV_EBUSY (a file of that name and another
 * content, or another fetch is at it), those of node/session.h,
 * INV_ECANCELLED (stop_fd; what was fetched stays as NAME.part).
 */
int inv_fetch_all(struct inv_fetch *f, size_t n, struct inv_inbox *in,
		  inv_fetch_progress *progress, void *arg, int stop_fd);
void inv_fetch_release(struct inv_fetch *f, size_t n);

#endif
