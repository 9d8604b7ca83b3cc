/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_TEE_H
#define INV_CLI_TEE_H

#include <stdbool.h>

#include "cli/members.h"

/*
 * Writes the logs of live sessions to files, besides showing them (trace -o).
 * With one node the file has the given name. With several nodes, the name of
 * the node is inserted before the extension .log.
 */
struct inv_tee {
	const char *path; /* NULL: no files */
	/* private */
	const struct inv_members *ms;
	int *fds;
	bool failed;
};

/* Makes the files, which must not exist, with mode 0600. Returns an enum
 * inv_exit, and reports errors. */
int inv_tee_open(struct inv_tee *t, const struct inv_members *ms);
/* Appends the bytes in *f, a piece of m's log, to m's file. On the first
 * failure, reports the failure and returns false. Later calls write nothing and
 * return true. */
bool inv_tee_put(struct inv_tee *t, const struct inv_member *m,
		 const struct inv_followed *f);
/* Closes the files. Returns false if a file could not be written. */
bool inv_tee_close(struct inv_tee *t);

#endif
