/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/feeds.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "log/live.h"

static void notify(void *arg, const struct inv_notice *n)
{
	const struct inv_feeds *f = arg;

	if (n->kind == INV_NOTICE_DAMAGE && !f->quiet)
		inv_screen_note(f->ms->cluster->screen,
				"%s: damaged at offset %" PRIu64 ": %s",
				n->file, n->off, n->text);
}

static int init_feed(struct inv_feeds *f, size_t i)
{
	const struct inv_member *m = &f->ms->v[i];
	struct inv_node *node = &f->nodes[i];
	struct inv_err err = { 0 };
	int rc;

	node->name = (char *)(uintptr_t)m->name;
	node->number = (uint32_t)i;
	node->otp_release = m->at->survey.otp;
	rc = inv_live_new(&f->v[i], node, m->name, INV_LIVE_CAP, &f->notices,
			  &err);
	if (!rc && !m->there)
		rc = inv_live_end(f->v[i], &err);
	return rc;
}

int inv_feeds_init(struct inv_feeds *f, const struct inv_members *ms)
{
	int rc = 0;

	f->ms = ms;
	f->notices.notify = notify;
	f->notices.arg = f;
	f->nodes = calloc(ms->n + 1, sizeof(*f->nodes));
	f->v = calloc(ms->n + 1, sizeof(struct inv_feed *));
	if (!f->nodes || !f->v)
		return INV_ENOMEM;
	for (size_t i = 0; !rc && i < ms->n; i++)
		rc = init_feed(f, i);
	return rc;
}

void inv_feeds_release(struct inv_feeds *f)
{
	for (size_t i = 0; f->v && i < f->ms->n; i++)
		if (f->v[i])
			f->v[i]->ops->free(f->v[i]);
	free(f->v);
	free(f->nodes);
}

struct inv_feed *inv_feeds_of(const struct inv_feeds *f,
			      const struct inv_member *m)
{
	return f->v[m - f->ms->v];
}

struct inv_feed *inv_feeds_took(struct inv_feeds *f, const struct inv_member *m,
				const struct inv_followed *followed)
{
	struct inv_feed *feed = inv_feeds_of(f, m);
	struct inv_err err = { 0 };

	if (followed->len &&
	    inv_live_push(feed, followed->bytes, followed->len, &err))
		inv_screen_note_node(f->ms->cluster->screen, m->name, err.text);
	if (followed->watermark == INV_WATERMARK_AT)
		inv_live_mark(feed, followed->ns, inv_mono_ms());
	return feed;
}

struct inv_feed *inv_feeds_ended(struct inv_feeds *f,
				 const struct inv_member *m)
{
	struct inv_feed *feed = inv_feeds_of(f, m);
	struct inv_err err = { 0 };

	if (inv_live_end(feed, &err))
		inv_screen_note_node(f->ms->cluster->screen, m->name, err.text);
	return feed;
}
