/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the input as a live log, which arrives in pieces.
 *
 *	byte 0    bit 0: the checksums are corrected first
 *	byte 1    sets the size of the pieces; 0: the whole file at once
 *	byte 2    sets the growth of the watermarks; 0: no watermarks
 *	the rest  the file
 *
 * The target checks that the reader for files, which gets the whole file, has
 * the same result: the same items of each stream, and the same counts of
 * rotations and damages. Without watermarks, the order of all items must also
 * be the same.
 */
#include <stdlib.h>

#include "check.h"
#include "log/live.h"
#include "log/set.h"
#include "log_repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Hashes of all items. Most of them depend on the order of the items. */
struct sums {
	uint64_t all;
	uint64_t streams; /* does not depend on the order */
	uint64_t n;
	uint64_t notes; /* not in `all': the order may differ */
	uint64_t rotated;
	uint64_t damages;
	bool unended;
	uint64_t of[256]; /* by stream modulo 256 */
};

static void add(struct sums *s, const struct inv_item *it)
{
	uint64_t *of = &s->of[it->stream % 256];
	uint64_t v[3] = { it->stream, 0, 0 };
	uint64_t h;

	if (it->kind == INV_ITEM_NOTE) {
		s->notes += XXH64(it->ev.terms, it->ev.len, it->ev.note);
		return;
	}
	if (it->kind == INV_ITEM_LOSS) {
		CHECK(it->lost.n && it->lost.reason < INV_LOST_COUNT);
		v[1] = it->lost.n;
		v[2] = it->lost.reason + 1;
	} else {
		v[1] = XXH64(it->ev.terms, it->ev.len, it->ev.tag);
	}
	h = XXH64(v, sizeof(v), 0);
	s->all = s->all * 31 + h;
	/* Two streams with the same number modulo 256 share an element of `of'.
	 * The order of their items may differ. */
	s->streams += h;
	*of = *of * 31 + h;
	s->n++;
}

static void drain(struct sums *s, struct inv_feed *feed)
{
	int rc;

	while (!(rc = feed->ops->next(feed)))
		add(s, &feed->item);
	CHECK(rc == INV_END);
}

static void finish(struct sums *s, struct inv_feed *feed,
		   const struct inv_notices *ns)
{
	s->rotated = feed->rotated;
	s->unended = feed->unended;
	s->damages = ns->n_damages;
	feed->ops->free(feed);
}

static bool by_reader(struct sums *s, const uint8_t *p, size_t n)
{
	struct inv_notices ns = { 0 };
	struct inv_node node = { 0 };
	struct inv_log_file *file = calloc(1, sizeof(*file));
	struct inv_source src;
	struct inv_feed *feed;

	CHECK(file && !inv_source_memory(&src, "x", p, n));
	if (inv_log_file_open(file, &src, &ns, NULL)) {
		free(file);
		return false;
	}
	CHECK(!inv_log_set_new(&feed, file, 1, &node, &ns, NULL));
	drain(s, feed);
	finish(s, feed, &ns);
	return true;
}

static void add_name(void *arg, struct inv_item *it)
{
	CHECK(it->kind == INV_ITEM_NOTE && it->ev.note == INV_NOTE_NAME);
	*(uint64_t *)arg += XXH64(it->ev.terms, it->ev.len, 0);
}

static bool live(struct sums *s, const uint8_t *p, size_t n, size_t piece,
		 int64_t grows)
{
	struct inv_notices ns = { 0 };
	struct inv_node node = { 0 };
	struct inv_feed *feed;
	uint64_t names = 0;
	int64_t mark = 0;
	int rc = 0;

	CHECK(!inv_live_new(&feed, &node, "x", SIZE_MAX, &ns, NULL));
	inv_live_names_to(feed, add_name, &names);
	for (size_t k; n && !rc; p += k, n -= k) {
		k = n < piece ? n : piece;
		rc = inv_live_push(feed, p, k, NULL);
		if (!grows)
			continue;
		inv_live_mark(feed, mark, 0);
		mark += grows;
		drain(s, feed);
	}
	if (!rc)
		rc = inv_live_end(feed, NULL);
	drain(s, feed);
	CHECK(!feed->growing);
	finish(s, feed, &ns);
	return !rc;
}

static void compare(const uint8_t *p, size_t n, size_t piece, int64_t grows)
{
	static struct sums whole, pieces;
	bool is;

	memset(&whole, 0, sizeof(whole));
	memset(&pieces, 0, sizeof(pieces));
	is = by_reader(&whole, p, n);
	CHECK(live(&pieces, p, n, piece, grows) == is);
	if (!is)
		return;
	CHECK(whole.n == pieces.n && whole.streams == pieces.streams);
	CHECK(whole.notes == pieces.notes);
	CHECK(whole.rotated == pieces.rotated);
	CHECK(whole.unended == pieces.unended);
	CHECK(whole.damages == pieces.damages);
	if (!grows)
		CHECK(whole.all == pieces.all);
	else
		for (unsigned i = 0; i < 255; i++)
			CHECK(whole.of[i] == pieces.of[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;
	size_t n = size - 3;
	size_t piece;

	if (size < 4)
		return 0;
	copy = malloc(n);
	CHECK(copy);
	memcpy(copy, data + 3, n);
	if (data[0] & 1)
		repair(copy, n);
	/* The file is read in at most about 1000 pieces, so that a run is
	 * short. */
	piece = data[1] ? (size_t)data[1] * data[1] : n;
	if (piece < n / 1000)
		piece = n / 1000;
	compare(copy, n, piece, (int64_t)data[2] * data[2] * data[2] * data[2]);
	free(copy);
	return 0;
}
