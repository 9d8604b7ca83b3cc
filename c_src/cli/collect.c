/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/collect.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "log/live.h"

static struct inv_feed *feed_of(const struct inv_collect *c,
				const struct inv_member *m)
{
	return c->feeds[m - c->ms->v];
}

bool inv_collect_unended(const struct inv_collect *c,
			 const struct inv_member *m)
{
	return feed_of(c, m)->unended;
}

static void notify(void *arg, const struct inv_notice *n)
{
	const struct inv_collect *c = arg;

	if (n->kind == INV_NOTICE_DAMAGE)
		inv_screen_note(c->ms->cluster->screen,
				"%s: damaged at offset %" PRIu64 ": %s",
				n->file, n->off, n->text);
}

static int init_feeds(struct inv_collect *c)
{
	size_t n = c->ms->n;
	struct inv_err err = { 0 };
	int rc = 0;

	c->notices.notify = notify;
	c->notices.arg = c;
	c->names = calloc(n + 1, sizeof(*c->names));
	c->feeds = calloc(n + 1, sizeof(struct inv_feed *));
	if (!c->names || !c->feeds)
		return INV_ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		const struct inv_member *m = &c->ms->v[i];

		c->names[i].name = (char *)(uintptr_t)m->name;
		c->names[i].number = (uint32_t)i;
		c->names[i].otp_release = m->at->survey.otp;
		rc = inv_live_new(&c->feeds[i], &c->names[i], m->name,
				  INV_LIVE_CAP, &c->notices, &err);
		if (!rc && !m->there)
			rc = inv_live_end(c->feeds[i], &err);
	}
	return rc;
}

int inv_collect_init(struct inv_collect *c, const struct inv_members *ms)
{
	struct inv_flow_opts o = { 0 };
	int rc;

	c->ms = ms;
	rc = init_feeds(c);
	o.feeds = c->feeds;
	o.n_feeds = (uint32_t)ms->n;
	if (!rc)
		rc = inv_flow_init(&c->flow, &o);
	return rc ? rc : inv_tallies_init(&c->tallies);
}

void inv_collect_release(struct inv_collect *c)
{
	inv_tallies_release(&c->tallies);
	inv_flow_release(&c->flow);
	for (size_t i = 0; c->feeds && i < c->ms->n; i++)
		if (c->feeds[i])
			c->feeds[i]->ops->free(c->feeds[i]);
	free(c->feeds);
	free(c->names);
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
	struct inv_feed *feed = feed_of(c, m);
	struct inv_err err = { 0 };

	if (f->len && inv_live_push(feed, f->bytes, f->len, &err))
		inv_screen_note_node(c->ms->cluster->screen, m->name, err.text);
	if (f->watermark == INV_WATERMARK_AT)
		inv_live_mark(feed, f->ns, inv_mono_ms());
	return read_feed(c, feed);
}

int inv_collect_ended(struct inv_collect *c, const struct inv_member *m)
{
	struct inv_err err = { 0 };

	if (inv_live_end(feed_of(c, m), &err))
		inv_screen_note_node(c->ms->cluster->screen, m->name, err.text);
	return read_feed(c, feed_of(c, m));
}
