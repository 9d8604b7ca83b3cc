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
 * Fetches the files of stopped sessions, from several nodes at the same time.
 *
 * A file is written as NAME.part, in chunks; several requests for chunks are
 * open at once. When NAME.part is complete and synced to the disk, it is
 * renamed to NAME. If there is a NAME.part of an earlier fetch, its last 64 KiB
 * are compared with the same bytes of the node's file. If they are equal, the
 * fetch continues after them; otherwise the whole file is fetched again.
 * (Earlier bytes need not be compared, because a log's packets have checksums.)
 * If there is a file NAME of the right size, it is not fetched again.
 *
 * Until the last file is complete, the command sends signs of life to all
 * sessions, so that they do not end even if the network is slow.
 *
 * Files are created with O_EXCL and mode 0600, and opened with O_NOFOLLOW.
 */
struct inv_fetch {
	const struct inv_session *session;
	const char *dir; /* must exist */
	/*
	 * A prefix for the names of the fetched files, because files of two
	 * nodes can have equal names. It may be "".
	 */
	const char *prefix;
	/* results */
	int code;
	struct inv_err err;
	struct inv_session_files files; /* the session's files;
					   inv_fetch_release frees them */
	uint64_t done, total;		/* fetched and total bytes */
};

/*
 * inv_fetch_all calls this regularly with its n fetches, whose `done' and
 * `total' show the progress.
 */
typedef void inv_fetch_progress(void *arg, const struct inv_fetch *f, size_t n);

/*
 * Fetches all files; f[i].code is the result of each fetch. Returns 0 or the
 * first error: INV_EIO (a local failure, such as a full disk), INV_EBUSY (NAME
 * exists with another size, or another program is fetching it), errors of
 * node/session.h, INV_ECANCELLED (`stop_fd' is readable; the fetched bytes stay
 * in NAME.part).
 */
int inv_fetch_all(struct inv_fetch *f, size_t n, struct inv_inbox *in,
		  inv_fetch_progress *progress, void *arg, int stop_fd);
void inv_fetch_release(struct inv_fetch *f, size_t n);

#endif
