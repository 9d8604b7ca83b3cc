/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_COLLECT_H
#define INV_CLI_COLLECT_H

#include <stdbool.h>

#include "cli/feeds.h"
#include "flow/flow.h"
#include "flow/tallies.h"

/*
 * Reads the logs of sessions that count or time events, while the nodes write
 * these logs:
 *
 *	if (!inv_collect_init(&c, &members))
 *		... inv_collect_took and _ended in the hooks of cli/watch.h
 *	inv_ranking_make(&r, &c.tallies, &c.flow, &opts);
 *	inv_collect_release(&c);
 *
 * c must be all zero before. Call inv_members_start before inv_collect_init.
 */
struct inv_collect {
	struct inv_flow flow;
	struct inv_tallies tallies;
	/* private */
	struct inv_feeds feeds;
};

/* The next three functions return 0 or INV_ENOMEM. Call inv_collect_release
 * also after a failure. */
int inv_collect_init(struct inv_collect *c, const struct inv_members *ms);
int inv_collect_took(struct inv_collect *c, const struct inv_member *m,
		     const struct inv_followed *f);
int inv_collect_ended(struct inv_collect *c, const struct inv_member *m);
void inv_collect_release(struct inv_collect *c);

/* Returns true if the member's log ends before the last counts of its
 * session. */
bool inv_collect_unended(const struct inv_collect *c,
			 const struct inv_member *m);

#endif
