/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/collect.h"

bool inv_collect_unended(const struct inv_collect *c,
			 const struct inv_member *m)
{
	return inv_feeds_of(&c->feeds, m)->unended;
}

int inv_collect_init(struct inv_collect *c, const struct inv_members *ms)
{
	struct inv_flow_opts o = { 0 };
	int rc = inv_feeds_init(&c->feeds, ms);

	o.feeds = c->feeds.v;
	o.n_feeds = (uint32_t)ms->n;
	if (!rc)
		rc = inv_flow_init(&c->flow, &o);
	return rc ? rc : inv_tallies_init(&c->tallies);
}

void inv_collect_release(struct inv_collect *c)
{
	inv_tallies_release(&c->tallies);
	inv_flow_release(&c->flow);
	inv_feeds_release(&c->feeds);
}

/* Reads the part of a member's log that has arrived. */
static int read_feed(struct inv_collect *c, struct inv_feed *feed)
{
	struct inv_item *item;
	int rc;

	while (!(rc = feed->ops->next(feed))) {
		item = inv_flow_item(&c->flow, &feed->item);
		if (!item || inv_tallies_item(&c->tallies, item))
			return INV_ENOMEM;
	}
	return rc == INV_END ? 0 : INV_ENOMEM;
}

int inv_collect_took(struct inv_collect *c, const struct inv_member *m,
		     const struct inv_followed *f)
{
	return read_feed(c, inv_feeds_took(&c->feeds, m, f));
}

int inv_collect_ended(struct inv_collect *c, const struct inv_member *m)
{
	return read_feed(c, inv_feeds_ended(&c->feeds, m));
}
