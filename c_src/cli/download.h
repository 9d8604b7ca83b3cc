/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_DOWNLOAD_H
#define INV_CLI_DOWNLOAD_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/count.h"
#include "cli/members.h"
#include "node/fetch.h"

/* Fetches the logs of stopped sessions into a directory. Shows the progress and
 * reports the results. */
struct inv_download {
	const char *dir; /* borrowed; created if it does not exist */
	/* results, one for each member; f[i].session is NULL if the member had
	 * no session */
	struct inv_fetch *f;
	char (*prefixes)[INV_NODE_NAME_MAX + 2];
	size_t n;
	bool cancelled;
};

/*
 * Creates the directory, mode 0700, if it does not exist. Returns false if that
 * failed, and reports the reason.
 */
bool inv_download_dir(struct inv_cluster *c, const char *dir);

/*
 * Checks that the fetch overwrites no file. Each member's log of the recording
 * `name' gets a file in dir. If such a file already exists, reports it and
 * returns false.
 */
bool inv_download_room(const struct inv_members *ms, const char *dir,
		       const char *name);

/* Fetches all available logs. Reports errors and stores them in the members.
 * Returns an enum inv_exit. */
int inv_download_run(struct inv_download *g, struct inv_members *ms);

/*
 * Call this after inv_download_run. Ends the sessions whose logs were
 * completely fetched. The nodes keep the logs of the other sessions under
 * `name' for a day; reports these nodes.
 */
void inv_download_leave(struct inv_download *g, struct inv_members *ms,
			const char *name);
void inv_download_release(struct inv_download *g);

/* Appends the line with the command that prints the logs in `dir'. */
void inv_download_put_next(const char *dir, struct inv_buf *b);
/* Appends a line for each node, "a@h: 612 events recorded, …; 15 s; 1.2 MiB in
 * dir/a@h-night.log", a line with the totals, and the commands for the next
 * step. */
void inv_download_put_text(const struct inv_download *g,
			   const struct inv_members *ms, struct inv_buf *b);
/* Appends a line of JSON for each node, and a line with the totals. If `count'
 * is not NULL, the line with the totals includes these counts. */
void inv_download_put_json(const struct inv_download *g,
			   const struct inv_members *ms,
			   const struct inv_count *count, struct inv_buf *b);

#endif
