/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include "base/clock.h"
#include "log/live.h"

/* If a node does not answer, the merge delays the events of other nodes for at
 * most this long. */
#define PATIENCE_MS 1000
/* A process's name usually arrives within this time after its first event. */
#define NAME_MS 250
#define CHUNK ((size_t)16 * 1024)

bool inv_view_wants(struct inv_view *v, const struct inv_member *m)
{
	return inv_screen_room(v->screen) > CHUNK &&
	       !inv_live_full(inv_feeds_of(&v->feeds, m));
}

void inv_view_took(struct inv_view *v, const struct inv_member *m,
		   const struct inv_followed *f)
{
	(void)inv_feeds_took(&v->feeds, m, f);
}

void inv_view_ended(struct inv_view *v, const struct inv_member *m)
{
	(void)inv_feeds_ended(&v->feeds, m);
}

static void flush(struct inv_view *v)
{
	inv_screen_out(v->screen, v->out.data, v->out.len);
	inv_buf_reset(&v->out);
}

static int put(struct inv_view *v, const struct inv_item *item)
{
	if (inv_pick_wants(v->pick, item)) {
		inv_flow_show(&v->flow, item);
		return inv_sink_item(v->sink, item);
	}
	inv_sink_skip(v->sink);
	return 0;
}

/* Sets *item to the next item. Returns 0, INV_END or INV_ENOMEM. If the item
 * must wait for the name of its process, sets v->held to the item, and *wait_ms
 * to how long it must wait. */
static int next(struct inv_view *v, struct inv_item **item, int64_t *wait_ms)
{
	int rc = v->held ? 0 : inv_merge_next(&v->merge, item);

	if (rc)
		return rc;
	if (v->held)
		*item = v->held;
	v->held = NULL;
	if (!inv_flow_awaits_name(&v->flow, *item))
		return 0;
	*wait_ms = inv_live_names_wait(v->feeds.v[(*item)->feed],
				       (*item)->ts_ns, NAME_MS,
				       v->merge.now_ms);
	if (*wait_ms)
		v->held = *item;
	else
		inv_flow_set_awaited(&v->flow, *item);
	return 0;
}

int64_t inv_view_print(struct inv_view *v)
{
	struct inv_item *item;
	int64_t wait_ms = -1;
	int rc = 0;

	v->merge.now_ms = inv_mono_ms();
	/* The terminal may have been resized. */
	if (v->fit)
		v->sink->opts.width = inv_screen_width();
	while (!v->enough && !v->failed &&
	       inv_screen_room(v->screen) > v->out.len) {
		rc = next(v, &item, &wait_ms);
		if (rc == INV_END || v->held)
			break;
		item = rc ? NULL : inv_flow_item(&v->flow, item);
		if (item && item->kind == INV_ITEM_NOTE)
			continue;
		if (!item || put(v, item)) {
			inv_screen_note(v->screen, "no memory");
			v->failed = true;
		} else if (v->events &&
			   inv_summary_shown(&v->sink->sum) >= v->events) {
			v->enough = true;
			/* Damage in later bytes is irrelevant. */
			v->feeds.quiet = true;
		}
		if (v->out.len >= CHUNK)
			flush(v);
	}
	flush(v);
	if (v->held)
		return wait_ms;
	return rc == INV_END ? inv_merge_wait(&v->merge) : -1;
}

void inv_view_flush(struct inv_view *v)
{
	inv_sink_flush(v->sink);
	flush(v);
}

bool inv_view_done(const struct inv_view *v)
{
	return v->enough || v->failed || inv_merge_done(&v->merge);
}

static void named(void *arg, struct inv_item *note)
{
	struct inv_view *v = arg;

	note->feed = note->node->number;
	if (!inv_flow_item(&v->flow, note))
		v->failed = true;
}

int inv_view_init(struct inv_view *v, const struct inv_sink_ops *format,
		  const struct inv_sink_opts *opts)
{
	struct inv_flow_opts flow_opts = {
		.keep = format->calls || inv_pick_active(v->pick),
	};
	size_t n = v->ms->n;
	int rc = inv_feeds_init(&v->feeds, v->ms);

	for (size_t i = 0; !rc && i < n; i++)
		inv_live_names_to(v->feeds.v[i], named, v);
	if (!rc)
		rc = inv_merge_init(&v->merge, v->feeds.v, (uint32_t)n);
	v->merge.patience_ms = PATIENCE_MS;
	flow_opts.feeds = v->feeds.v;
	flow_opts.n_feeds = (uint32_t)n;
	if (!rc)
		rc = inv_flow_init(&v->flow, &flow_opts);
	if (!rc)
		rc = inv_sink_new(&v->sink, format, opts, &v->out);
	return rc;
}

void inv_view_release(struct inv_view *v)
{
	inv_flow_release(&v->flow);
	inv_merge_release(&v->merge);
	inv_feeds_release(&v->feeds);
	inv_sink_free(v->sink);
	inv_buf_release(&v->out);
}
