/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_GETTING_H
#define INV_CLI_GETTING_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/members.h"
#include "node/fetch.h"

/*
 * Getting the logs of stopped sessions into a directory, with progress, and
 * what is said of it.
 */
struct inv_getting {
	const char *dir; /* borrowed; made if it is not there */
	/* the results, one a member; f[i].session NULL: it had none */
	struct inv_fetch *f;
	char (*prefixes)[INV_NODE_NAME_MAX + 2];
	size_t n;
	bool cancelled;
};

/* Makes the directory, mode 0700, if it is not there.  False, and says so. */
bool inv_getting_dir(struct inv_cluster *c, const char *dir);

/* Whether the log of the recording `name' can get its name in dir of each
 * member's node: nothing is written over.  False, and says so. */
bool inv_getting_room(const struct inv_members *ms, const char *dir,
		      const char *name);

/* Gets them of all that are there; what goes wrong is said, and in m->code.
 * enum inv_exit. */
int inv_getting_run(struct inv_getting *g, struct inv_members *ms);

/* When they have been got: sessions end, but for those whose logs are not all
 * here, who keep them under that name for a time, which is said. */
void inv_getting_leave(struct inv_getting *g, struct inv_members *ms,
		       const char *name);
void inv_getting_release(struct inv_getting *g);

/* "a@h: 612 events recorded, …; 15 s; 1.2 MiB in dir/a@h-night.log", a line a
 * node, the sum, and how to go on. */
void inv_getting_put_text(const struct inv_getting *g,
			  const struct inv_members *ms, struct inv_buf *b);
/* An object a node, and one for all. */
void inv_getting_put_json(const struct inv_getting *g,
			  const struct inv_members *ms, struct inv_buf *b);

#endif
