/* SPDX-License-Identifier: Apache-2.0 */
#include "log/reader.h"

#include <stdlib.h>
#include <string.h>

#include "abi/ring.h"

struct inv_reader_stream {
	struct inv_stream s;
	bool queued; /* an item of the stream is in the heap */
};

/* --- the clock ------------------------------------------------------------ */

static bool next_anchor(void *arg, struct inv_anchor *anchor)
{
	struct inv_reader *r = arg;
	struct inv_log_place at;

	while (!inv_entries_anchor(&r->anchors, r->anchor, anchor)) {
		r->anchor = 0;
		r->anchors.n = 0;
		if (r->ops->take(r, INV_LOG_ANCHORS_ONLY, &at))
			return false;
		inv_entries_open(&r->anchors, r->anchor_unpacker, &at);
	}
	r->anchor++;
	return true;
}

void inv_reader_guess_clock(struct inv_reader *r)
{
	if (r->guessed || r->clock.known)
		return;
	r->guessed = true;
	/* Assume that the first event happened when the file was created. */
	if (r->first_ns != UINT64_MAX)
		inv_clock_guess(&r->clock, r->first_ns, r->created_ns);
	inv_notice_info(r->notices, r->name,
			"no clock anchors: its times are estimates");
}

/* --- streams -------------------------------------------------------------- */

int inv_reader_add(struct inv_reader *r, uint32_t stream)
{
	struct inv_reader_stream *x;

	r->fresh = true;
	if (stream >= r->n_streams) {
		struct inv_reader_stream **more =
			realloc(r->streams, (stream + 1) * sizeof(x));

		if (!more)
			return INV_ENOMEM;
		memset(more + r->n_streams, 0,
		       (stream + 1 - r->n_streams) * sizeof(x));
		r->streams = more;
		r->n_streams = stream + 1;
	}
	if (r->streams[stream])
		return 0;
	/* The array has only a pointer to *x: items point into *x, so *x must
	 * not move when the array grows. */
	x = calloc(1, sizeof(*x));
	if (!x)
		return INV_ENOMEM;
	inv_stream_init(&x->s, stream, r->rotated, r->unpacker, r->notices);
	x->s.no_names = r->names_first;
	r->streams[stream] = x;
	return 0;
}

void inv_reader_limit(struct inv_reader *r, const struct inv_range *range)
{
	for (uint32_t i = 0; i < r->n_streams; i++)
		inv_stream_limit(&r->streams[i]->s, range);
}

static int64_t key(const struct inv_stream *s)
{
	return s->mono_ns < INT64_MAX ? (int64_t)s->mono_ns : INT64_MAX;
}

/* Passes packets to the stream until it has an item. Returns INV_END if there
 * is no further packet. */
static int refill(struct inv_reader *r, struct inv_stream *s)
{
	struct inv_log_place at;
	int rc;

	do {
		rc = r->ops->take(r, s->number, &at);
		if (rc == INV_END) {
			inv_stream_release(s);
			if (r->complete && inv_stream_end(s))
				return 0;
		}
		if (!rc)
			rc = inv_stream_take(s, &at, r->first_ns);
		if (rc)
			return rc;
	} while (inv_stream_next(s) == INV_END);
	return 0;
}

static inline int next_of(struct inv_reader *r, struct inv_stream *s)
{
	return inv_stream_next(s) ? refill(r, s) : 0;
}

/* Tries to get an item of each stream that is not in the heap, and adds the
 * streams with an item to the heap. */
static int queue_streams(struct inv_reader *r)
{
	for (uint32_t i = 0; i < r->n_streams; i++) {
		struct inv_reader_stream *x = r->streams[i];
		int rc = !x || x->queued ? INV_END : next_of(r, &x->s);

		if (rc < 0)
			return rc;
		if (rc)
			continue;
		x->queued = true;
		inv_merge_heap_push(&r->heap, key(&x->s), i);
	}
	r->fresh = false;
	return 0;
}

/* Moves to the next item of the stream whose item was returned last. */
static int step(struct inv_reader *r)
{
	struct inv_reader_stream *x = r->given;
	int rc = next_of(r, &x->s);

	r->given = NULL;
	if (rc < 0)
		return rc;
	if (rc) {
		x->queued = false;
		inv_merge_heap_pop(&r->heap);
	} else {
		inv_merge_heap_replace(&r->heap, key(&x->s));
	}
	return 0;
}

/* --- items ---------------------------------------------------------------- */

void inv_reader_count_common(struct inv_reader *r,
			     const struct inv_log_totals *t)
{
	if (t->stream == UINT32_MAX)
		inv_account_totals(&r->common, t, false, &r->losses);
}

/*
 * Call it when all streams have ended. Makes the next item from the losses that
 * belong to no stream. Returns INV_END if there are none.
 */
static int last_items(struct inv_reader *r)
{
	struct inv_item *it = &r->feed.item;

	if (!r->counted)
		for (uint32_t i = 0; i < r->n_streams; i++)
			if (r->streams[i]) {
				const struct inv_stream *s = &r->streams[i]->s;

				r->feed.rotated += s->account.rotated;
				r->feed.skipped += s->skipped;
			}
	r->counted = true;
	if (!r->losses.n) {
		r->feed.growing = false;
		return INV_END;
	}
	inv_reader_guess_clock(r);
	r->losses.n--;
	it->kind = INV_ITEM_LOSS;
	it->stream = UINT32_MAX;
	it->lost.n = r->losses.at[r->losses.n].n;
	it->lost.reason = r->losses.at[r->losses.n].reason;
	it->mono_ns = (int64_t)r->last_ns;
	inv_clock_at(&r->clock, r->last_ns, &it->ts_ns, &it->erl_ns);
	return 0;
}

static void give(struct inv_reader *r, struct inv_reader_stream *x)
{
	const struct inv_stream *s = &x->s;
	struct inv_item *it = &r->feed.item;

	if (!r->clock.known)
		inv_reader_guess_clock(r);
	r->given = x;
	r->last_ns = s->mono_ns;
	it->stream = s->number;
	it->mono_ns = (int64_t)s->mono_ns;
	inv_clock_at(&r->clock, s->mono_ns, &it->ts_ns, &it->erl_ns);
	if (s->is_loss) {
		it->kind = INV_ITEM_LOSS;
		it->lost.n = s->lost_n;
		it->lost.reason = s->lost_reason;
	} else {
		it->kind = s->ev.note ? INV_ITEM_NOTE : INV_ITEM_EVENT;
		it->ev = s->ev;
	}
}

/* Moves r->notes to the next early note, which is returned before the
 * events. */
static int find_name(struct inv_reader *r)
{
	struct inv_log_place at;
	int rc = inv_stream_next(&r->notes);

	while (rc == INV_END || !inv_note_is_early(r->notes.ev.note)) {
		if (rc == INV_END) {
			rc = r->ops->take(r, INV_LOG_NOTES_ONLY, &at);
			if (!rc)
				rc = inv_stream_take_notes(&r->notes, &at);
			if (rc)
				return rc;
		}
		rc = inv_stream_next(&r->notes);
	}
	return 0;
}

/* Makes an item from the next early note. Because it is returned before all
 * events, the item gets the time of the first event. */
static int next_name(struct inv_reader *r)
{
	struct inv_item *it = &r->feed.item;
	int rc = find_name(r);

	it->early = !rc;
	if (rc) {
		inv_stream_release(&r->notes);
		r->named = rc == INV_END;
		return rc;
	}
	it->kind = INV_ITEM_NOTE;
	it->stream = r->notes.at.head.stream;
	it->ts_ns = it->erl_ns = r->feed.first_ns;
	it->ev = r->notes.ev;
	return 0;
}

int inv_reader_next(struct inv_feed *feed)
{
	struct inv_reader *r = (struct inv_reader *)feed;
	struct inv_reader_stream *x;
	int rc = r->names_first && !r->named ? next_name(r) : INV_END;

	if (rc != INV_END)
		return rc;
	rc = r->given ? step(r) : 0;
	if (!rc && r->fresh)
		rc = queue_streams(r);
	if (rc)
		return rc;
	if (!r->heap.n)
		return r->complete ? last_items(r) : INV_END;
	x = r->streams[r->heap.e[0].index];
	if (x->s.mono_ns >= r->before_ns && r->before_ns != UINT64_MAX)
		return INV_END;
	give(r, x);
	return feed->lazy ? 0 : inv_reader_load(feed);
}

int inv_reader_load(struct inv_feed *feed)
{
	struct inv_reader *r = (struct inv_reader *)feed;
	struct inv_reader_stream *x = r->given;
	int rc;

	if (!x || !x->s.is_pending)
		return 0;
	rc = inv_stream_load(&x->s);
	if (!rc)
		give(r, x);
	return rc;
}

/* --- init and release ----------------------------------------------------- */

int inv_reader_init(struct inv_reader *r, const struct inv_node *node,
		    const struct inv_reader_ops *ops,
		    struct inv_notices *notices)
{
	r->feed.node = r->feed.item.node = node;
	r->ops = ops;
	r->notices = notices;
	r->first_ns = UINT64_MAX;
	r->feed.first_ns = INT64_MAX;
	r->unpacker = inv_unpacker_new();
	r->anchor_unpacker = inv_unpacker_new();
	if (!r->unpacker || !r->anchor_unpacker ||
	    !inv_merge_heap_init(&r->heap, INV_RINGS_MAX))
		return INV_ENOMEM;
	inv_stream_init(&r->notes, UINT32_MAX, false, r->unpacker,
			&r->unnoticed);
	inv_clock_init(&r->clock, next_anchor, r);
	return 0;
}

void inv_reader_release(struct inv_reader *r)
{
	for (uint32_t i = 0; i < r->n_streams; i++) {
		if (r->streams[i])
			inv_stream_release(&r->streams[i]->s);
		free(r->streams[i]);
	}
	free(r->streams);
	inv_stream_release(&r->notes);
	inv_merge_heap_release(&r->heap);
	inv_unpacker_free(r->unpacker);
	inv_unpacker_free(r->anchor_unpacker);
}
