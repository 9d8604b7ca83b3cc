/* SPDX-License-Identifier: Apache-2.0 */
#include "log/live.h"

#include <stdlib.h>
#include <string.h>

#include "abi/ring.h"
#include "base/buf.h"
#include "log/about.h"
#include "log/reader.h"
#include "log/set.h"

/* A copy of a packet that has arrived, for the reader. */
struct kept {
	struct kept *next;
	struct inv_log_place at;
	size_t size; /* how many bytes of memory the packet takes */
	uint8_t body[];
};

/* A queue of packets of one stream, or of ANCHORS packets, the oldest first. */
struct lane {
	struct kept *first;
	struct kept *last;
	struct kept *open; /* the packet that the reader is using */
};

struct live {
	struct inv_reader r;
	struct inv_node *node;
	size_t cap;
	/* The bytes that were pushed. The first ones, `used' in number, were
	 * processed already. Then follows the beginning of a packet whose other
	 * bytes have not arrived yet. */
	struct inv_buf buf;
	size_t used;
	struct inv_source bytes; /* the bytes that are not processed */
	bool begun;		 /* `about' and `scan' are initialized */
	struct inv_log_about about;
	struct inv_scan scan;
	struct inv_log_packet last; /* head of the last packet that arrived */
	/* The packets that have arrived and that the reader has not freed yet:
	 * lanes[i] has those of stream i. */
	struct lane *lanes;
	uint32_t n_lanes;
	size_t held; /* bytes of memory of the packets in `lanes' */
	struct lane anchors;
	size_t held_anchors;
	struct inv_anchor anchor; /* the newest anchor that has arrived */
	bool anchored;		  /* `anchor' is valid */
	bool marked;		  /* `mark' is valid */
	int64_t mark; /* the latest watermark, in Erlang monotonic time */
	/* inv_live_push calls this function for each note with a name that
	 * arrives; NULL: no function is called */
	inv_live_name_fn *name_fn;
	void *name_arg;
};

/* The most bytes of ANCHORS packets that are kept in memory until they are
 * read. If more arrive, the oldest packets are dropped, because the clock needs
 * the latest anchors. */
#define ANCHORS_CAP (4u * 1024 * 1024)

static struct live *live_of(const struct inv_feed *feed)
{
	return (struct live *)(uintptr_t)feed;
}

/* --- the watermark -------------------------------------------------------- */

/* Returns Erlang's monotonic time minus the time on the events' clock, from the
 * latest anchor. */
static uint64_t erl_offset(const struct live *l)
{
	return (uint64_t)l->anchor.erl - l->anchor.mono;
}

/* Returns the watermark on the clock of the events, or 0 if it is unknown. */
static uint64_t marked_ns(const struct live *l)
{
	int64_t ns = (int64_t)((uint64_t)l->mark - erl_offset(l));

	return l->marked && l->anchored && ns > 0 ? (uint64_t)ns : 0;
}

/* Computes the watermarks of the reader and of the feed again. Call it when
 * something on which they depend has changed. */
static void set_watermark(struct live *l)
{
	struct inv_feed *f = &l->r.feed;

	l->r.before_ns = marked_ns(l);
	if (l->r.complete || inv_live_full(f))
		l->r.before_ns = UINT64_MAX;
	f->mark_ns = INT64_MIN;
	if (l->marked && l->anchored)
		f->mark_ns = (int64_t)((uint64_t)l->mark +
				       (uint64_t)l->anchor.offset);
}

void inv_live_mark(struct inv_feed *feed, int64_t erl_ns, int64_t now_ms)
{
	struct live *l = live_of(feed);

	if (l->marked && erl_ns <= l->mark)
		return;
	l->marked = true;
	l->mark = erl_ns;
	feed->heard_ms = now_ms;
	set_watermark(l);
}

bool inv_live_full(const struct inv_feed *feed)
{
	const struct live *l = live_of(feed);

	return l->held >= l->cap;
}

/* --- waiting packets ------------------------------------------------------ */

static int put(struct lane *x, size_t *held, const struct inv_log_place *at)
{
	size_t body = at->body ? at->head.body_len : 0;
	struct kept *k = malloc(sizeof(*k) + body);

	if (!k)
		return INV_ENOMEM;
	k->next = NULL;
	k->at = *at;
	k->size = sizeof(*k) + body;
	if (at->body)
		k->at.body = memcpy(k->body, at->body, body);
	if (x->first)
		x->last->next = k;
	else
		x->first = k;
	x->last = k;
	*held += k->size;
	return 0;
}

/* Frees the packet that is open in the lane, and opens the next packet. */
static struct kept *take(struct lane *x, size_t *held)
{
	if (x->open)
		*held -= x->open->size;
	free(x->open);
	x->open = x->first;
	if (x->first)
		x->first = x->first->next;
	return x->open;
}

static void release(struct lane *x, size_t *held)
{
	while (take(x, held))
		;
}

static int live_take(struct inv_reader *r, uint32_t stream,
		     struct inv_log_place *at)
{
	struct live *l = live_of(&r->feed);
	const struct kept *k;

	if (stream == INV_LOG_ANCHORS_ONLY) {
		k = take(&l->anchors, &l->held_anchors);
	} else {
		k = take(&l->lanes[stream], &l->held);
		set_watermark(l);
	}
	if (!k)
		return INV_END;
	*at = k->at;
	return 0;
}

/* --- arriving packets ----------------------------------------------------- */

static int keep(struct live *l, uint32_t stream, const struct inv_log_place *at)
{
	if (stream >= l->n_lanes) {
		struct lane *more =
			realloc(l->lanes, (stream + 1) * sizeof(*more));

		if (!more)
			return INV_ENOMEM;
		memset(more + l->n_lanes, 0,
		       (stream + 1 - l->n_lanes) * sizeof(*more));
		l->lanes = more;
		l->n_lanes = stream + 1;
	}
	if (put(&l->lanes[stream], &l->held, at))
		return INV_ENOMEM;
	return inv_reader_add(&l->r, stream);
}

/* Replaces the last packet of a lane, if it is a TOTALS packet, by the TOTALS
 * packet *at. Returns false if the last packet is of another type. */
static bool replace_totals(struct lane *x, const struct inv_log_place *at)
{
	if (!x->first || x->last->at.head.type != INV_LOG_TOTALS)
		return false;
	x->last->at = *at;
	x->last->at.body =
		memcpy(x->last->body, at->body, sizeof(struct inv_log_totals));
	return true;
}

/* *t is entry i of a TOTALS packet, and belongs to the stream t->stream. If
 * several entries belong to this stream, only one of them is used: entry number
 * t->stream if it is one of them, otherwise the first of them. Returns true if
 * entry i is the one to use. `had' is true if an earlier entry belongs to the
 * stream. */
static bool is_of_stream(const struct inv_entries *e, uint32_t i,
			 const struct inv_log_totals *t, bool had)
{
	struct inv_log_totals other;

	if (i == t->stream)
		return true;
	if (inv_entries_totals(e, t->stream, &other) &&
	    other.stream == t->stream)
		return false;
	return !had;
}

/*
 * Splits a TOTALS packet: puts into the lane of each stream a TOTALS packet
 * with the entry of this stream. This also makes lanes for streams that lost
 * all their events and have no other packet. A small packet can have totals of
 * very many streams, and the totals of each stream need memory here. So if the
 * feed is full, new totals replace the totals at the end of a lane. No loss is
 * missed, because totals only increase.
 */
static int keep_totals(struct live *l, const struct inv_log_place *at)
{
	bool had[INV_RINGS_MAX] = { false };
	struct inv_log_totals t;
	struct inv_log_place one = *at;
	struct inv_entries e;
	int rc = 0;

	one.body = (const uint8_t *)&t;
	one.head.codec = INV_CODEC_NONE;
	one.head.body_len = one.head.raw_len = sizeof(t);
	one.head.n_events = 1;
	inv_entries_open(&e, l->r.unpacker, at);
	for (uint32_t i = 0; !rc && inv_entries_totals(&e, i, &t); i++) {
		inv_reader_count_common(&l->r, &t);
		if (t.stream >= INV_RINGS_MAX ||
		    !is_of_stream(&e, i, &t, had[t.stream]))
			continue;
		had[t.stream] = true;
		if (!inv_live_full(&l->r.feed) || t.stream >= l->n_lanes ||
		    !replace_totals(&l->lanes[t.stream], &one))
			rc = keep(l, t.stream, &one);
	}
	return rc;
}

static int keep_anchors(struct live *l, const struct inv_log_place *at)
{
	struct inv_entries e;
	struct lane *x = &l->anchors;

	inv_entries_open(&e, l->r.unpacker, at);
	if (!e.n)
		return 0;
	inv_entries_anchor(&e, e.n - 1, &l->anchor);
	l->anchored = true;
	if (put(x, &l->held_anchors, at))
		return INV_ENOMEM;
	while (l->held_anchors > ANCHORS_CAP && x->first != x->last) {
		struct kept *oldest = x->first;

		x->first = oldest->next;
		l->held_anchors -= oldest->size;
		free(oldest);
	}
	inv_clock_more(&l->r.clock);
	return 0;
}

/* Calls name_fn for each name in the packet of notes `at'. Does not report
 * damage of the packet, because the packet's stream reports it later. */
static int pass_names(struct live *l, const struct inv_log_place *at)
{
	struct inv_stream *s = &l->r.notes;
	struct inv_item it = { .kind = INV_ITEM_NOTE,
			       .node = l->node,
			       .stream = at->head.stream,
			       .early = true };
	int rc = inv_stream_take_notes(s, at);

	while (!rc && !inv_stream_next(s)) {
		if (s->ev.note != INV_NOTE_NAME)
			continue;
		it.ev = s->ev;
		l->name_fn(l->name_arg, &it);
	}
	inv_stream_release(s);
	return rc;
}

void inv_live_names_to(struct inv_feed *feed, inv_live_name_fn *fn, void *arg)
{
	struct live *l = live_of(feed);

	l->name_fn = fn;
	l->name_arg = arg;
}

int64_t inv_live_names_wait(const struct inv_feed *feed, int64_t ts_ns,
			    int64_t ms, int64_t now_ms)
{
	const struct live *l = live_of(feed);
	int64_t left;

	if (l->r.complete || inv_live_full(feed) ||
	    feed->mark_ns == INT64_MIN ||
	    (int64_t)((uint64_t)feed->mark_ns - (uint64_t)ts_ns) >=
		    ms * 1000000)
		return 0;
	left = feed->heard_ms + ms - now_ms;
	return left > 0 ? left : 0;
}

static int keep_packet(struct live *l, struct inv_log_place *at)
{
	const struct inv_log_packet *h = &at->head;

	l->last = *h;
	switch (h->type) {
	case INV_LOG_ANCHORS:
		return keep_anchors(l, at);
	case INV_LOG_TOTALS:
		return keep_totals(l, at);
	case INV_LOG_EVENTS:
	case INV_LOG_EVENTS_1:
		if (h->begin_ns < l->r.first_ns)
			l->r.first_ns = h->begin_ns;
		if (l->name_fn && !h->n_events && pass_names(l, at))
			return INV_ENOMEM;
		return keep(l, h->stream, at);
	default:
		return 0;
	}
}

/* --- arriving bytes ------------------------------------------------------- */

static int begin(struct live *l, struct inv_window *w, struct inv_err *err)
{
	uint64_t start = 0;
	int rc = inv_log_about_read(&l->about, w, l->r.notices, &start, err);

	if (rc)
		return rc;
	l->begun = true;
	l->r.created_ns = l->about.head.created_ns;
	l->r.rotated = l->about.head.file_no > 0;
	l->scan.off = start;
	/* The gap has no text, because inv_log_about_read has reported the
	 * damage. */
	if (l->about.damaged)
		inv_scan_lose(&l->scan, start, NULL);
	if (!l->node->otp_release)
		l->node->otp_release =
			(unsigned)strtoul(l->about.otp_release, NULL, 10);
	return 0;
}

/* Processes all complete packets among the bytes that were pushed. */
static int digest(struct live *l, struct inv_err *err)
{
	struct inv_window w = { .src = &l->bytes };
	struct inv_scan_step step;
	int rc;

	l->bytes.data = l->buf.data + l->used;
	l->bytes.size = l->bytes.begin + (l->buf.len - l->used);
	rc = l->begun ? 0 : begin(l, &w, err);
	if (rc)
		return rc;
	while (!rc && !inv_scan_next(&l->scan, &w, &step)) {
		if (!step.is_gap)
			rc = keep_packet(l, &step.at);
		else if (step.what)
			inv_notice_damage(l->r.notices, l->bytes.name, step.off,
					  step.len, "%s", step.what);
	}
	set_watermark(l);
	l->used += (size_t)(l->scan.off - l->bytes.begin);
	l->bytes.begin = l->scan.off;
	if (rc)
		return inv_err_set(err, rc, "%s: no memory", l->bytes.name);
	return 0;
}

static void finish(struct live *l)
{
	const char *name = l->bytes.name;
	bool begun = l->bytes.begin > 0;

	l->r.complete = true;
	if (!begun)
		inv_notice_info(l->r.notices, name,
				"no part of its log has arrived");
	l->r.feed.unended = !begun ||
			    !inv_log_check_end(&l->last, name, l->r.notices);
	inv_buf_release(&l->buf);
	l->used = 0;
	set_watermark(l);
}

static int fail(struct live *l, int rc)
{
	l->r.complete = true;
	l->r.feed.unended = true;
	set_watermark(l);
	return rc;
}

int inv_live_push(struct inv_feed *feed, const void *bytes, size_t n,
		  struct inv_err *err)
{
	struct live *l = live_of(feed);
	int rc;

	if (l->r.complete)
		return inv_err_set(err, INV_EINVAL, "%s: it has ended",
				   l->bytes.name);
	if (l->used > l->buf.len / 2) {
		memmove(l->buf.data, l->buf.data + l->used,
			l->buf.len - l->used);
		l->buf.len -= l->used;
		l->used = 0;
	}
	inv_buf_put(&l->buf, bytes, n);
	if (l->buf.error)
		rc = inv_err_set(err, INV_ENOMEM, "%s: no memory",
				 l->bytes.name);
	else
		rc = l->buf.len > l->used ? digest(l, err) : 0;
	return rc < 0 ? fail(l, rc) : 0;
}

int inv_live_end(struct inv_feed *feed, struct inv_err *err)
{
	struct live *l = live_of(feed);
	int rc = 0;

	if (l->r.complete)
		return 0;
	l->bytes.growing = false;
	if (l->bytes.begin || l->buf.len)
		rc = digest(l, err);
	if (rc < 0)
		return fail(l, rc);
	finish(l);
	return 0;
}

/* --- the feed ------------------------------------------------------------- */

static int live_next(struct inv_feed *feed)
{
	struct live *l = live_of(feed);
	int rc = inv_reader_next(feed);

	/* All items before the watermark were returned, so the times of all
	 * later items are after it. Move the clock to the watermark: this frees
	 * the memory of earlier anchors. */
	if (rc == INV_END && !l->r.heap.n && l->r.clock.known &&
	    !l->r.complete && marked_ns(l))
		inv_clock_move(&l->r.clock, marked_ns(l));
	return rc;
}

static void live_free(struct inv_feed *feed)
{
	struct live *l = live_of(feed);

	inv_reader_release(&l->r);
	for (uint32_t i = 0; i < l->n_lanes; i++)
		release(&l->lanes[i], &l->held);
	release(&l->anchors, &l->held_anchors);
	free(l->lanes);
	inv_log_about_release(&l->about);
	inv_buf_release(&l->buf);
	inv_source_close(&l->bytes);
	free(l);
}

static const struct inv_feed_ops feed_ops = {
	.next = live_next,
	.free = live_free,
	.load = inv_reader_load,
};

static const struct inv_reader_ops reader_ops = {
	.take = live_take,
};

int inv_live_new(struct inv_feed **feed, struct inv_node *node,
		 const char *name, size_t cap, struct inv_notices *notices,
		 struct inv_err *err)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	l->node = node;
	l->cap = cap;
	l->r.feed.ops = &feed_ops;
	l->r.feed.growing = true;
	l->r.feed.mark_ns = l->r.feed.heard_ms = INT64_MIN;
	if (inv_source_memory(&l->bytes, name, NULL, 0) ||
	    inv_reader_init(&l->r, node, &reader_ops, notices)) {
		live_free(&l->r.feed);
		return inv_err_set(err, INV_ENOMEM, "no memory");
	}
	l->bytes.growing = true;
	l->r.name = l->bytes.name;
	*feed = &l->r.feed;
	return 0;
}
