/* SPDX-License-Identifier: Apache-2.0 */
#include "log/reader.h"

#include <stdlib.h>
#include <string.h>

#include "log/clock.h"
#include "log/heap.h"
#include "log/stream.h"

/* A stream, and where it is in the set: it steps over the heads of the others'
 * packets on its own, so that what many streams take in memory does not depend
 * on the events. */
struct reader_stream {
	struct inv_stream s;
	struct inv_set_cursor cursor;
};

struct reader {
	struct inv_feed feed;
	struct inv_log_set set;
	struct inv_set_anchors anchors;
	struct inv_clock clock;
	struct inv_unpacker *unpacker;
	struct reader_stream *streams;
	uint32_t n_streams;
	struct inv_merge_heap
		heap; /* of streams; the top's item was given out */
	bool started;
	/* losses that belong to no stream, known when all streams ended */
	bool ended;
	struct inv_loss_list losses;
	uint64_t last_ns;
};

static int64_t key(const struct inv_stream *s)
{
	return s->mono_ns < INT64_MAX ? (int64_t)s->mono_ns : INT64_MAX;
}

/* Hands the stream packets until there is an item in one. */
static int refill(struct reader *r, uint32_t i)
{
	struct reader_stream *x = &r->streams[i];
	const struct inv_log_file *file;
	struct inv_log_place at;
	int rc;

	do {
		rc = inv_set_cursor_seek(&x->cursor, &r->set, i, &at, &file);
		if (!rc)
			rc = inv_stream_take(&x->s, &at, file->first_ns);
		if (rc)
			return rc;
	} while (inv_stream_next(&x->s) == INV_END);
	return 0;
}

static inline int next_of(struct reader *r, uint32_t i)
{
	return inv_stream_next(&r->streams[i].s) ? refill(r, i) : 0;
}

static int start(struct reader *r)
{
	for (uint32_t i = 0; i < r->n_streams; i++) {
		int rc = next_of(r, i);

		if (rc < 0)
			return rc;
		if (!rc)
			inv_merge_heap_push(&r->heap, key(&r->streams[i].s), i);
	}
	return 0;
}

static int step(struct reader *r)
{
	uint32_t i = r->heap.e[0].index;
	int rc = next_of(r, i);

	if (rc < 0)
		return rc;
	if (rc) {
		inv_stream_release(&r->streams[i].s);
		inv_merge_heap_pop(&r->heap);
	} else {
		inv_merge_heap_replace(&r->heap, key(&r->streams[i].s));
	}
	return 0;
}

/* Events of threads that had no ring are counted for no stream. */
static void read_common_totals(struct reader *r)
{
	struct inv_set_cursor c = { 0 };
	struct inv_account a = { 0 };
	const struct inv_log_file *file;
	struct inv_log_place at;
	struct inv_log_totals t;

	while (!inv_set_cursor_seek(&c, &r->set, UINT32_MAX, &at, &file)) {
		struct inv_entries e;

		inv_entries_open(&e, r->unpacker, &at);
		for (uint32_t i = 0; inv_entries_totals(&e, i, &t); i++)
			if (t.stream == UINT32_MAX)
				inv_account_totals(&a, &t, false, &r->losses);
	}
	for (uint32_t i = 0; i < r->n_streams; i++)
		r->feed.rotated += r->streams[i].s.account.rotated;
}

static int last_items(struct reader *r)
{
	struct inv_item *it = &r->feed.item;

	if (!r->ended) {
		r->ended = true;
		read_common_totals(r);
	}
	if (!r->losses.n)
		return INV_END;
	r->losses.n--;
	it->kind = INV_ITEM_LOSS;
	it->stream = UINT32_MAX;
	it->lost.n = r->losses.at[r->losses.n].n;
	it->lost.reason = r->losses.at[r->losses.n].reason;
	inv_clock_at(&r->clock, r->last_ns, &it->ts_ns, &it->erl_ns);
	return 0;
}

static int reader_next(struct inv_feed *feed)
{
	struct reader *r = (struct reader *)feed;
	struct inv_item *it = &feed->item;
	const struct inv_stream *s;
	int rc = 0;

	if (!r->started)
		rc = start(r);
	else if (r->heap.n)
		rc = step(r);
	r->started = true;
	if (rc)
		return rc;
	if (!r->heap.n)
		return last_items(r);
	s = &r->streams[r->heap.e[0].index].s;
	r->last_ns = s->mono_ns;
	it->stream = r->heap.e[0].index;
	inv_clock_at(&r->clock, s->mono_ns, &it->ts_ns, &it->erl_ns);
	if (s->is_loss) {
		it->kind = INV_ITEM_LOSS;
		it->lost.n = s->lost_n;
		it->lost.reason = s->lost_reason;
	} else {
		it->kind = INV_ITEM_EVENT;
		it->ev = s->ev;
	}
	return 0;
}

static void reader_free(struct inv_feed *feed)
{
	struct reader *r = (struct reader *)feed;

	for (uint32_t i = 0; r->streams && i < r->n_streams; i++)
		inv_stream_release(&r->streams[i].s);
	free(r->streams);
	inv_merge_heap_release(&r->heap);
	inv_unpacker_free(r->unpacker);
	inv_unpacker_free(r->anchors.unpacker);
	inv_log_set_release(&r->set);
	free(r);
}

static const struct inv_feed_ops reader_ops = {
	.next = reader_next,
	.free = reader_free,
};

static void start_clock(struct reader *r, struct inv_notices *notices)
{
	const struct inv_log_file *f = r->set.files;

	r->anchors.set = &r->set;
	inv_clock_init(&r->clock, inv_set_anchors_next, &r->anchors);
	if (r->clock.known || !r->set.n_files)
		return;
	/* The first event was when the first file was made. */
	if (f->first_ns != UINT64_MAX)
		inv_clock_guess(&r->clock, f->first_ns,
				f->about.head.created_ns);
	inv_notice_info(notices, f->src.name,
			"no clock anchors: its times are a guess");
}

int inv_reader_new(struct inv_feed **feed, struct inv_log_set *set,
		   const struct inv_node *node, struct inv_notices *notices,
		   struct inv_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r) {
		inv_log_set_release(set);
		return inv_err_set(err, INV_ENOMEM, "no memory");
	}
	r->feed.ops = &reader_ops;
	r->feed.node = node;
	r->feed.item.node = node;
	r->set = *set;
	memset(set, 0, sizeof(*set));
	r->n_streams = r->set.n_streams;
	r->unpacker = inv_unpacker_new();
	r->streams =
		calloc(r->n_streams ? r->n_streams : 1, sizeof(*r->streams));
	r->anchors.unpacker = inv_unpacker_new();
	if (!r->unpacker || !r->anchors.unpacker || !r->streams ||
	    !inv_merge_heap_init(&r->heap, r->n_streams)) {
		reader_free(&r->feed);
		return inv_err_set(err, INV_ENOMEM, "no memory");
	}
	for (uint32_t i = 0; i < r->n_streams; i++)
		inv_stream_init(&r->streams[i].s, i, r->set.beginning_lost,
				r->unpacker, notices);
	start_clock(r, notices);
	r->feed.unended = !inv_log_set_check_end(&r->set, notices);
	*feed = &r->feed;
	return 0;
}
