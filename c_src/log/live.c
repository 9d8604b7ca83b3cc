/* SPDX-License-Identifier: Apache-2.0 */
#include "log/live.h"

#include <stdlib.h>
#include <string.h>

#include "abi/ring.h"
#include "base/buf.h"
#include "log/about.h"
#include "log/backlog.h"
#include "log/clock.h"
#include "log/heap.h"
#include "log/set.h"
#include "log/stream.h"

/* A stream, and what it has not read yet. */
struct lane {
	struct inv_stream s;
	struct inv_backlog waiting;
	struct inv_kept *open; /* what the stream reads */
	bool queued;	       /* its item is in the heap */
};

struct live {
	struct inv_feed feed;
	struct inv_node *node;
	char *name;
	struct inv_notices *notices;
	size_t cap;
	/* bytes that are no whole packet yet, and what was used of them */
	struct inv_buf buf;
	size_t used;
	uint64_t off; /* of what is not used, in the log */
	bool begun;   /* about and scan are good */
	struct inv_log_about about;
	struct inv_scan scan;
	struct inv_log_packet last; /* head of the last packet */
	uint64_t first_ns;	    /* of the events; UINT64_MAX: none yet */
	/* packets that wait */
	size_t held; /* bytes */
	struct lane **lanes;
	uint32_t n_lanes;
	bool fresh; /* a lane that is not queued may have something */
	struct inv_unpacker *unpacker;
	/* order */
	struct inv_merge_heap heap; /* of lanes */
	bool given;		    /* the top's item was given out */
	uint64_t last_ns;
	/* time */
	struct inv_anchor_queue anchors;
	struct inv_anchor anchor; /* the latest */
	bool anchored;
	struct inv_clock clock;
	bool guessed;
	bool marked;
	int64_t mark;
	int64_t heard;
	/* the end */
	bool ended;
	bool counted; /* losses that belong to no stream may be given out */
	bool done;
	struct inv_account common;
	struct inv_loss_list losses;
};

static const struct inv_feed_ops live_ops;

static struct live *live_of(const struct inv_feed *feed)
{
	return (struct live *)(uintptr_t)feed;
}

/* --- packets that come ---------------------------------------------------- */

static struct lane *make_lane(struct live *l, uint32_t number)
{
	struct lane **more;

	if (number >= l->n_lanes) {
		more = realloc(l->lanes, (number + 1) * sizeof(struct lane *));
		if (!more)
			return NULL;
		memset(more + l->n_lanes, 0,
		       (number + 1 - l->n_lanes) * sizeof(struct lane *));
		l->lanes = more;
		l->n_lanes = number + 1;
	}
	/* Items point into it: it stays where it is. */
	if (!l->lanes[number]) {
		struct lane *x = calloc(1, sizeof(*x));

		if (!x)
			return NULL;
		inv_stream_init(&x->s, number, l->about.head.file_no > 0,
				l->unpacker, l->notices);
		l->lanes[number] = x;
	}
	return l->lanes[number];
}

static int queue(struct live *l, uint32_t stream, struct inv_kept *k)
{
	struct lane *x = make_lane(l, stream);

	if (!x || inv_backlog_put(&x->waiting, k))
		return INV_ENOMEM;
	l->held += sizeof(struct inv_backlog_entry);
	l->fresh = true;
	return 0;
}

static void drop(struct live *l, struct inv_kept *k)
{
	l->held -= inv_kept_drop(k);
}

/* A stream may have lost all it had: then only its totals tell of it. */
static int queue_totals(struct live *l, struct inv_kept *k)
{
	struct inv_entries e;
	struct inv_log_totals t;
	int rc = 0;

	inv_entries_open(&e, l->unpacker, &k->at);
	for (uint32_t i = 0; !rc && inv_entries_totals(&e, i, &t); i++) {
		if (t.stream == UINT32_MAX)
			inv_account_totals(&l->common, &t, false, &l->losses);
		else if (t.stream < INV_RINGS_MAX)
			rc = queue(l, t.stream, k);
	}
	return rc;
}

static int keep(struct live *l, const struct inv_log_place *at)
{
	struct inv_kept *k = inv_kept_new(at);
	int rc;

	if (!k)
		return INV_ENOMEM;
	l->held += k->size;
	if (at->head.type == INV_LOG_TOTALS)
		rc = queue_totals(l, k);
	else
		rc = queue(l, at->head.stream, k);
	drop(l, k);
	return rc;
}

static int take_anchors(struct live *l, const struct inv_log_place *at)
{
	struct inv_entries e;
	struct inv_anchor a;

	inv_entries_open(&e, l->unpacker, at);
	for (uint32_t i = 0; inv_entries_anchor(&e, i, &a); i++) {
		if (inv_anchor_queue_put(&l->anchors, &a))
			return INV_ENOMEM;
		l->anchor = a;
		l->anchored = true;
	}
	inv_clock_more(&l->clock);
	return 0;
}

static int take(struct live *l, struct inv_scan_step *step)
{
	const struct inv_log_packet *h = &step->at.head;

	if (step->is_gap) {
		if (step->what)
			inv_notice_damage(l->notices, l->name, step->off,
					  step->len, "%s", step->what);
		return 0;
	}
	step->at.file = l->name;
	l->last = *h;
	if (h->type == INV_LOG_ANCHORS)
		return take_anchors(l, &step->at);
	if (h->type == INV_LOG_EVENTS && h->begin_ns < l->first_ns)
		l->first_ns = h->begin_ns;
	if (h->type == INV_LOG_EVENTS || h->type == INV_LOG_TOTALS)
		return keep(l, &step->at);
	return 0;
}

/* --- bytes that come ------------------------------------------------------ */

static int begin(struct live *l, const struct inv_scan_bytes *b,
		 struct inv_err *err)
{
	uint64_t start = 0;
	int rc = inv_log_about_read(&l->about, b, l->name, l->notices, &start,
				    err);

	if (rc)
		return rc;
	l->begun = true;
	l->scan.off = start;
	/* That was told already. */
	if (l->about.damaged)
		inv_scan_lose(&l->scan, start, NULL);
	if (!l->node->otp_release)
		l->node->otp_release =
			(unsigned)strtoul(l->about.otp_release, NULL, 10);
	return 0;
}

/* Takes whole packets out of the bytes. */
static int digest(struct live *l, bool last, struct inv_err *err)
{
	struct inv_scan_bytes b = { .data = l->buf.data + l->used,
				    .size = l->buf.len - l->used,
				    .off = l->off,
				    .last = last };
	struct inv_scan_step step;
	int rc = l->begun ? 0 : begin(l, &b, err);

	if (rc)
		return rc;
	while (!rc && !inv_scan_next(&l->scan, &b, &step))
		rc = take(l, &step);
	l->used += (size_t)(l->scan.off - l->off);
	l->off = l->scan.off;
	if (rc)
		return inv_err_set(err, rc, "%s: no memory", l->name);
	return 0;
}

static void finish(struct live *l)
{
	l->ended = true;
	if (!l->off)
		inv_notice_info(l->notices, l->name,
				"nothing of its log has come");
	l->feed.unended = !l->off ||
			  !inv_log_check_end(&l->last, l->name, l->notices);
	inv_buf_release(&l->buf);
	l->used = 0;
}

static int fail(struct live *l, int rc)
{
	l->ended = true;
	l->feed.unended = true;
	return rc;
}

int inv_live_push(struct inv_feed *feed, const void *bytes, size_t n,
		  struct inv_err *err)
{
	struct live *l = live_of(feed);
	int rc;

	if (l->ended)
		return inv_err_set(err, INV_EINVAL, "%s: it has ended",
				   l->name);
	if (l->used > l->buf.len / 2) {
		memmove(l->buf.data, l->buf.data + l->used,
			l->buf.len - l->used);
		l->buf.len -= l->used;
		l->used = 0;
	}
	inv_buf_put(&l->buf, bytes, n);
	if (l->buf.error)
		rc = inv_err_set(err, INV_ENOMEM, "%s: no memory", l->name);
	else
		rc = l->buf.len > l->used ? digest(l, false, err) : 0;
	return rc < 0 ? fail(l, rc) : 0;
}

int inv_live_end(struct inv_feed *feed, struct inv_err *err)
{
	struct live *l = live_of(feed);
	int rc = 0;

	if (l->ended)
		return 0;
	if (l->off || l->buf.len)
		rc = digest(l, true, err);
	if (rc < 0)
		return fail(l, rc);
	finish(l);
	return 0;
}

/* --- marks ---------------------------------------------------------------- */

void inv_live_mark(struct inv_feed *feed, int64_t erl_ns, int64_t now_ms)
{
	struct live *l = live_of(feed);

	if (l->marked && erl_ns <= l->mark)
		return;
	l->marked = true;
	l->mark = erl_ns;
	l->heard = now_ms;
}

/* From the clock of the events to Erlang's monotonic time, lately. */
static uint64_t erl_offset(const struct live *l)
{
	return (uint64_t)l->anchor.erl - l->anchor.mono;
}

bool inv_live_marked(const struct inv_feed *feed, int64_t *ts_ns)
{
	const struct live *l = live_of(feed);

	if (!l->marked || !l->anchored)
		return false;
	*ts_ns = (int64_t)((uint64_t)l->mark + (uint64_t)l->anchor.offset);
	return true;
}

int64_t inv_live_heard(const struct inv_feed *feed)
{
	return live_of(feed)->heard;
}

static bool before_mark(const struct live *l, uint64_t mono)
{
	return l->marked && l->anchored &&
	       (int64_t)(mono + erl_offset(l)) < l->mark;
}

/* With nothing to give out, no time before the mark is asked for any more. */
static void forget_anchors(struct live *l)
{
	if (l->marked && l->anchored && l->clock.known)
		inv_clock_move(&l->clock, (uint64_t)l->mark - erl_offset(l));
}

static bool next_anchor(void *arg, struct inv_anchor *a)
{
	struct live *l = arg;

	return inv_anchor_queue_take(&l->anchors, a);
}

/* Without an anchor: the first event was when the file was made. */
static void guess(struct live *l)
{
	if (l->guessed || l->clock.known)
		return;
	l->guessed = true;
	if (l->first_ns != UINT64_MAX)
		inv_clock_guess(&l->clock, l->first_ns,
				l->about.head.created_ns);
	inv_notice_info(l->notices, l->name,
			"no clock anchors: its times are a guess");
}

/* --- items ---------------------------------------------------------------- */

static int64_t key(const struct lane *x)
{
	return x->s.mono_ns < INT64_MAX ? (int64_t)x->s.mono_ns : INT64_MAX;
}

static void close_packet(struct live *l, struct lane *x)
{
	if (x->open)
		drop(l, x->open);
	x->open = NULL;
}

/* The lane's next item: 0, INV_END, INV_ENOMEM. */
static int next_of(struct live *l, struct lane *x)
{
	int rc = 0;

	while (!rc && inv_stream_next(&x->s) == INV_END) {
		close_packet(l, x);
		x->open = inv_backlog_take(&x->waiting);
		if (!x->open) {
			inv_stream_release(&x->s);
			return INV_END;
		}
		l->held -= sizeof(struct inv_backlog_entry);
		rc = inv_stream_take(&x->s, &x->open->at, l->first_ns);
	}
	return rc;
}

static int step(struct live *l)
{
	struct lane *x = l->lanes[l->heap.e[0].index];
	int rc = next_of(l, x);

	l->given = false;
	if (rc < 0)
		return rc;
	if (rc) {
		x->queued = false;
		inv_merge_heap_pop(&l->heap);
	} else {
		inv_merge_heap_replace(&l->heap, key(x));
	}
	return 0;
}

static int queue_lanes(struct live *l)
{
	for (uint32_t i = 0; i < l->n_lanes; i++) {
		struct lane *x = l->lanes[i];
		int rc = !x || x->queued ? INV_END : next_of(l, x);

		if (rc < 0)
			return rc;
		if (rc)
			continue;
		x->queued = true;
		inv_merge_heap_push(&l->heap, key(x), i);
	}
	l->fresh = false;
	return 0;
}

/* Losses that belong to no stream. */
static int last_items(struct live *l)
{
	struct inv_item *it = &l->feed.item;

	if (!l->counted)
		for (uint32_t i = 0; i < l->n_lanes; i++)
			if (l->lanes[i])
				l->feed.rotated +=
					l->lanes[i]->s.account.rotated;
	l->counted = true;
	l->done = !l->losses.n;
	if (l->done)
		return INV_END;
	guess(l);
	l->losses.n--;
	it->kind = INV_ITEM_LOSS;
	it->stream = UINT32_MAX;
	it->lost.n = l->losses.at[l->losses.n].n;
	it->lost.reason = l->losses.at[l->losses.n].reason;
	inv_clock_at(&l->clock, l->last_ns, &it->ts_ns, &it->erl_ns);
	return 0;
}

static void give(struct live *l, const struct inv_stream *s)
{
	struct inv_item *it = &l->feed.item;

	guess(l);
	l->given = true;
	l->last_ns = s->mono_ns;
	it->stream = s->number;
	inv_clock_at(&l->clock, s->mono_ns, &it->ts_ns, &it->erl_ns);
	if (s->is_loss) {
		it->kind = INV_ITEM_LOSS;
		it->lost.n = s->lost_n;
		it->lost.reason = s->lost_reason;
	} else {
		it->kind = INV_ITEM_EVENT;
		it->ev = s->ev;
	}
}

static int live_next(struct inv_feed *feed)
{
	struct live *l = live_of(feed);
	const struct inv_stream *s;
	int rc = l->given ? step(l) : 0;

	if (!rc && l->fresh)
		rc = queue_lanes(l);
	if (rc)
		return rc;
	if (!l->heap.n) {
		if (l->ended)
			return last_items(l);
		forget_anchors(l);
		return INV_END;
	}
	s = &l->lanes[l->heap.e[0].index]->s;
	if (!l->ended && !inv_live_full(feed) && !before_mark(l, s->mono_ns))
		return INV_END;
	give(l, s);
	return 0;
}

bool inv_live_full(const struct inv_feed *feed)
{
	const struct live *l = live_of(feed);

	return l->held >= l->cap;
}

bool inv_live_done(const struct inv_feed *feed)
{
	return live_of(feed)->done;
}

/* --- the whole ------------------------------------------------------------ */

static void free_lane(struct live *l, struct lane *x)
{
	struct inv_kept *k;

	close_packet(l, x);
	while ((k = inv_backlog_take(&x->waiting)))
		drop(l, k);
	inv_stream_release(&x->s);
	free(x);
}

static void live_free(struct inv_feed *feed)
{
	struct live *l = live_of(feed);

	for (uint32_t i = 0; i < l->n_lanes; i++)
		if (l->lanes[i])
			free_lane(l, l->lanes[i]);
	free(l->lanes);
	inv_anchor_queue_release(&l->anchors);
	inv_merge_heap_release(&l->heap);
	inv_unpacker_free(l->unpacker);
	inv_log_about_release(&l->about);
	inv_buf_release(&l->buf);
	free(l->name);
	free(l);
}

static const struct inv_feed_ops live_ops = {
	.next = live_next,
	.free = live_free,
};

int inv_live_new(struct inv_feed **feed, struct inv_node *node,
		 const char *name, size_t cap, struct inv_notices *notices,
		 struct inv_err *err)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	l->feed.ops = &live_ops;
	l->feed.node = l->feed.item.node = l->node = node;
	l->notices = notices;
	l->cap = cap;
	l->first_ns = UINT64_MAX;
	l->heard = INT64_MIN;
	l->name = strdup(name);
	l->unpacker = inv_unpacker_new();
	inv_clock_init(&l->clock, next_anchor, l);
	if (!l->name || !l->unpacker ||
	    !inv_merge_heap_init(&l->heap, INV_RINGS_MAX)) {
		live_free(&l->feed);
		return inv_err_set(err, INV_ENOMEM, "no memory");
	}
	*feed = &l->feed;
	return 0;
}
