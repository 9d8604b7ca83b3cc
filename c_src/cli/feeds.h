/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_FEEDS_H
#define INV_CLI_FEEDS_H

#include <stdbool.h>

#include "cli/members.h"
#include "log/feed.h"
#include "log/notice.h"

/*
 * Reads the logs of live sessions while the nodes write them: there is a feed
 * for each member. Damage of the logs is reported on the screen.
 */
struct inv_feeds {
	bool quiet; /* report no damage */
	/* results */
	const struct inv_members *ms;
	struct inv_feed **v;	/* v[i] reads the log of member i */
	struct inv_node *nodes; /* nodes[i] is the node of member i */
	/* private */
	struct inv_notices notices;
};

/* f must be all zero, except `quiet'. Call inv_members_start before. Returns 0
 * or INV_ENOMEM; the caller releases f in both cases. */
int inv_feeds_init(struct inv_feeds *f, const struct inv_members *ms);
void inv_feeds_release(struct inv_feeds *f);

struct inv_feed *inv_feeds_of(const struct inv_feeds *f,
			      const struct inv_member *m);

/* For the hooks of cli/watch.h: adds bytes of m's log, or ends the log. Errors
 * are reported on the screen. Returns m's feed, which may have new items. */
struct inv_feed *inv_feeds_took(struct inv_feeds *f, const struct inv_member *m,
				const struct inv_followed *followed);
struct inv_feed *inv_feeds_ended(struct inv_feeds *f,
				 const struct inv_member *m);

#endif
