/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TEST_LOG_LIVE_H
#define INV_TEST_LOG_LIVE_H

#include "log/live.h"
#include "log/set.h"
#include "unit/log_collect.h"

/* Items that a feed (a live log, or a reader for files) has returned, in a form
 * in which the items of two feeds can be compared. */
struct seen_item {
	int64_t ts;
	uint64_t hash; /* of the event's bytes */
	uint64_t lost;
	uint32_t stream;
	unsigned reason;
};

struct seen {
	struct seen_item *at;
	size_t n;
	uint64_t notes; /* a hash of all notes, which does not depend on
			   their order */
	uint64_t damages;
	uint64_t rotated;
	bool unended;
	int rc; /* 0, or the error if the file is not a log */
};

static inline void seen_item(struct seen *s, const struct inv_item *it)
{
	struct seen_item *x;

	/* Notes have one common hash, which does not depend on their order,
	 * because a reader for files returns notes earlier than a live log
	 * does. */
	if (it->kind == INV_ITEM_NOTE) {
		s->notes += XXH64(it->ev.terms, it->ev.len, it->ev.note);
		return;
	}
	if (!(s->n & (s->n + 1))) {
		s->at = realloc(s->at, (2 * s->n + 1) * sizeof(*s->at));
		assert_non_null(s->at);
	}
	x = &s->at[s->n++];
	memset(x, 0, sizeof(*x));
	x->ts = it->ts_ns;
	x->stream = it->stream;
	if (it->kind == INV_ITEM_LOSS) {
		x->lost = it->lost.n;
		x->reason = it->lost.reason;
	} else {
		x->hash = XXH64(it->ev.terms, it->ev.len, it->ev.tag);
	}
}

static inline void seen_release(struct seen *s)
{
	free(s->at);
	memset(s, 0, sizeof(*s));
}

/* Adds all items that the feed returns now. */
static inline void seen_drain(struct seen *s, struct inv_feed *feed)
{
	int rc;

	while (!(rc = feed->ops->next(feed)))
		seen_item(s, &feed->item);
	assert_int_equal(rc, INV_END);
}

static inline void seen_end(struct seen *s, struct inv_feed *feed,
			    const struct inv_notices *ns)
{
	s->damages = ns->n_damages;
	s->rotated = feed->rotated;
	s->unended = feed->unended;
	feed->ops->free(feed);
}

/* Reads a whole file with the reader for files. */
static inline void seen_by_reader(struct seen *s, const void *p, size_t n)
{
	struct inv_notices ns = { 0 };
	struct inv_node node = { 0 };
	struct inv_log_file *file = calloc(1, sizeof(*file));
	struct inv_source src;
	struct inv_feed *feed;

	memset(s, 0, sizeof(*s));
	assert_non_null(file);
	assert_int_equal(inv_source_memory(&src, "x", p, n), 0);
	s->rc = inv_log_file_open(file, &src, &ns, NULL);
	if (s->rc) {
		free(file);
		return;
	}
	assert_int_equal(inv_log_set_new(&feed, file, 1, &node, &ns, NULL), 0);
	seen_drain(s, feed);
	seen_end(s, feed, &ns);
}

/*
 * Pushes the file to a live log in pieces of up to `piece' bytes, or all at
 * once if `piece' is 0. After each piece, sets a watermark (the time up to
 * which the log counts as complete). The first watermark is `begin', and each
 * further watermark is larger by `grows'.
 */
static inline void seen_live(struct seen *s, const uint8_t *p, size_t n,
			     size_t piece, int64_t begin, int64_t grows)
{
	struct inv_notices ns = { 0 };
	struct inv_node node = { 0 };
	struct inv_feed *feed;
	size_t off = 0;

	memset(s, 0, sizeof(*s));
	assert_int_equal(inv_live_new(&feed, &node, "x", SIZE_MAX, &ns, NULL),
			 0);
	while (off < n && !s->rc) {
		size_t k = piece ? 1 + (size_t)rand() % piece : n;

		if (k > n - off)
			k = n - off;
		s->rc = inv_live_push(feed, p + off, k, NULL);
		off += k;
		if (piece) {
			inv_live_mark(feed, begin, 0);
			begin += grows;
			seen_drain(s, feed);
		}
	}
	if (!s->rc)
		s->rc = inv_live_end(feed, NULL);
	seen_drain(s, feed);
	assert_false(feed->growing);
	seen_end(s, feed, &ns);
}

static inline void assert_same_accounts(const struct seen *a,
					const struct seen *b)
{
	assert_int_equal(a->rc, b->rc);
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->notes, b->notes);
	assert_int_equal(a->damages, b->damages);
	assert_int_equal(a->rotated, b->rotated);
	if (!a->rc)
		assert_int_equal(a->unended, b->unended);
}

static inline void assert_same(const struct seen *a, const struct seen *b)
{
	assert_same_accounts(a, b);
	for (size_t i = 0; i < a->n; i++)
		assert_memory_equal(&a->at[i], &b->at[i], sizeof(a->at[i]));
}

/* Checks that each stream has the same items in both lists. The two times of an
 * item may differ if one of the times was estimated before an anchor
 * arrived. */
static inline void assert_same_streams(const struct seen *a,
				       const struct seen *b)
{
	assert_same_accounts(a, b);
	for (size_t i = 0, j = 0; i < a->n; i++) {
		uint32_t stream = a->at[i].stream;
		bool first = true;

		for (size_t k = 0; first && k < i; k++)
			first = a->at[k].stream != stream;
		for (size_t k = i; first && k < a->n; k++) {
			struct seen_item x, y;

			if (a->at[k].stream != stream)
				continue;
			for (j = k == i ? 0 : j + 1;
			     j < b->n && b->at[j].stream != stream; j++)
				;
			assert_true(j < b->n);
			x = a->at[k];
			y = b->at[j];
			x.ts = y.ts = 0;
			assert_memory_equal(&x, &y, sizeof(x));
		}
	}
}

#endif
