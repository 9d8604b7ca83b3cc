/* SPDX-License-Identifier: Apache-2.0 */
#include "log/set.h"

#include <stdlib.h>
#include <string.h>

#include "log/reader.h"

/* A position in the log: the index of a file, and a position in that file. */
struct set_cursor {
	uint32_t file;
	struct inv_log_cursor in;
};

struct set {
	struct inv_reader r;
	struct inv_log_file *files; /* owned; all are open */
	uint32_t n_files;
	struct set_cursor *cursors; /* cursors[i] is for stream i */
	struct set_cursor anchors;
	struct set_cursor notes;
};

/* --- the files ------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
	const struct inv_log_file *x = a;
	const struct inv_log_file *y = b;

	if (x->about.head.file_no != y->about.head.file_no)
		return x->about.head.file_no < y->about.head.file_no ? -1 : 1;
	/* If two files have the same number, the larger file is first. It has
	 * more packets, and drop_twins keeps only the first. */
	return (x->src.size < y->src.size) - (x->src.size > y->src.size);
}

/* If several files have the same number, keeps only the first of them. */
static void drop_twins(struct set *s, struct inv_notices *ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_files; i++) {
		struct inv_log_file *f = &s->files[i];

		if (n && s->files[n - 1].about.head.file_no ==
				 f->about.head.file_no) {
			inv_notice_info(ns, f->src.name,
					"left out: the same part of the log as "
					"%s",
					s->files[n - 1].src.name);
			inv_log_file_close(f);
			continue;
		}
		if (n != i) {
			s->files[n] = *f;
			memset(f, 0, sizeof(*f));
		}
		n++;
	}
	s->n_files = n;
}

static void report_missing(const struct set *s, struct inv_notices *ns)
{
	for (uint32_t i = 1; i < s->n_files; i++) {
		uint32_t before = s->files[i - 1].about.head.file_no;
		uint32_t here = s->files[i].about.head.file_no;

		if (here - before > 1)
			inv_notice_info(ns, s->files[i].src.name,
					"%u file(s) of this log are missing "
					"before this one",
					here - before - 1);
	}
}

static uint32_t count_streams(const struct set *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_files; i++)
		if (s->files[i].n_streams > n)
			n = s->files[i].n_streams;
	return n;
}

bool inv_log_check_end(const struct inv_log_packet *last, const char *file,
		       struct inv_notices *ns)
{
	if (last->type != INV_LOG_TOTALS) {
		inv_notice_info(ns, file,
				"the log has no end: it is still being "
				"written, was cut, or its writer was killed");
		return false;
	}
	switch ((uint32_t)last->seq) {
	case INV_END_ROTATED:
		inv_notice_info(ns, file,
				"the log continues in a file that was not "
				"given");
		return false;
	case INV_END_TERMINATED:
		inv_notice_info(ns, file,
				"the log's writer was stopped before the "
				"tracer was closed");
		break;
	case INV_END_VM:
		inv_notice_info(ns, file, "the log ends because the node died");
		break;
	default:
		break;
	}
	return true;
}

/* --- packets -------------------------------------------------------------- */

static int seek(struct set *s, struct set_cursor *c, uint32_t stream,
		struct inv_log_place *at)
{
	for (; c->file < s->n_files; c->file++) {
		if (!inv_log_cursor_seek(&c->in, &s->files[c->file], stream,
					 at))
			return 0;
		memset(&c->in, 0, sizeof(c->in));
	}
	return INV_END;
}

static int set_take(struct inv_reader *r, uint32_t stream,
		    struct inv_log_place *at)
{
	struct set *s = (struct set *)r;
	struct set_cursor *c;

	if (stream == INV_LOG_ANCHORS_ONLY)
		return seek(s, &s->anchors, stream, at);
	if (stream == INV_LOG_NOTES_ONLY)
		return seek(s, &s->notes, stream, at);
	c = &s->cursors[stream];
	if (seek(s, c, stream, at))
		return INV_END;
	r->first_ns = s->files[c->file].first_ns;
	return 0;
}

static void count_common(struct set *s)
{
	struct set_cursor c = { 0 };
	struct inv_log_place at;
	struct inv_log_totals t;

	while (!seek(s, &c, INV_LOG_TOTALS_ONLY, &at)) {
		struct inv_entries e;

		inv_entries_open(&e, s->r.unpacker, &at);
		for (uint32_t i = 0; inv_entries_totals(&e, i, &t); i++)
			inv_reader_count_common(&s->r, &t);
	}
}

/* --- the time --------------------------------------------------------------- */

/* State for reading all anchors of the log, independently of the reader's
 * position. */
struct all_anchors {
	struct set *set;
	struct set_cursor cursor;
	struct inv_entries entries;
	uint32_t next;
};

static bool next_anchor(void *arg, struct inv_anchor *anchor)
{
	struct all_anchors *a = arg;
	struct inv_log_place at;

	while (!inv_entries_anchor(&a->entries, a->next, anchor)) {
		a->next = 0;
		a->entries.n = 0;
		if (seek(a->set, &a->cursor, INV_LOG_ANCHORS_ONLY, &at))
			return false;
		inv_entries_open(&a->entries, a->set->r.unpacker, &at);
	}
	a->next++;
	return true;
}

static void set_limit(struct inv_feed *feed, int64_t from_ns, int64_t until_ns)
{
	struct set *s = (struct set *)feed;
	struct all_anchors anchors = { .set = s };
	struct inv_range range = { .limited = true };
	struct inv_clock clock;

	inv_clock_init(&clock, next_anchor, &anchors);
	if (!clock.known) /* the log has no anchors: use the reader's guess */
		clock = s->r.clock;
	inv_clock_range(&clock, from_ns, until_ns, &range.from_ns,
			&range.until_ns);
	inv_reader_limit(&s->r, &range);
}

/* Returns the time of the first event. */
static int64_t first_time(struct set *s)
{
	uint64_t first = UINT64_MAX;
	int64_t sys, erl;

	for (uint32_t i = 0; i < s->n_files; i++)
		if (s->files[i].first_ns < first)
			first = s->files[i].first_ns;
	if (first == UINT64_MAX)
		return INT64_MAX;
	inv_clock_at(&s->r.clock, first, &sys, &erl);
	return sys;
}

/* --- the feed ------------------------------------------------------------- */

static void set_free(struct inv_feed *feed)
{
	struct set *s = (struct set *)feed;

	inv_reader_release(&s->r);
	for (uint32_t i = 0; i < s->n_files; i++)
		inv_log_file_close(&s->files[i]);
	free(s->files);
	free(s->cursors);
	free(s);
}

static const struct inv_feed_ops feed_ops = {
	.next = inv_reader_next,
	.free = set_free,
	.load = inv_reader_load,
	.limit = set_limit,
};

static const struct inv_reader_ops reader_ops = {
	.take = set_take,
};

static int open_set(struct set *s, const struct inv_node *node,
		    struct inv_notices *ns)
{
	const struct inv_log_file *first, *last;
	uint32_t n;

	qsort(s->files, s->n_files, sizeof(*s->files), by_number);
	drop_twins(s, ns);
	report_missing(s, ns);
	n = count_streams(s);
	for (uint32_t i = 0; i < s->n_files; i++)
		inv_log_file_share(&s->files[i], n, ns);
	s->cursors = calloc(n ? n : 1, sizeof(*s->cursors));
	if (!s->cursors || inv_reader_init(&s->r, node, &reader_ops, ns))
		return INV_ENOMEM;
	first = &s->files[0];
	last = &s->files[s->n_files - 1];
	s->r.name = first->src.name;
	s->r.created_ns = first->about.head.created_ns;
	s->r.first_ns = first->first_ns;
	s->r.rotated = first->about.head.file_no > 0;
	s->r.before_ns = UINT64_MAX;
	s->r.complete = true;
	s->r.names_first = true;
	for (uint32_t i = 0; i < n; i++)
		if (inv_reader_add(&s->r, i))
			return INV_ENOMEM;
	count_common(s);
	inv_reader_guess_clock(&s->r);
	s->r.feed.first_ns = first_time(s);
	for (uint32_t i = 0; i < s->n_files; i++)
		s->r.feed.lossy = s->r.feed.lossy || s->files[i].lossy;
	s->r.feed.unended = !inv_log_check_end(&last->last, last->src.name, ns);
	return 0;
}

int inv_log_set_new(struct inv_feed **feed, struct inv_log_file *files,
		    uint32_t n_files, const struct inv_node *node,
		    struct inv_notices *notices, struct inv_err *err)
{
	struct set *s = calloc(1, sizeof(*s));

	if (!s) {
		for (uint32_t i = 0; i < n_files; i++)
			inv_log_file_close(&files[i]);
		free(files);
		return inv_err_set(err, INV_ENOMEM, "no memory");
	}
	s->r.feed.ops = &feed_ops;
	s->files = files;
	s->n_files = n_files;
	if (open_set(s, node, notices)) {
		set_free(&s->r.feed);
		return inv_err_set(err, INV_ENOMEM, "no memory");
	}
	*feed = &s->r.feed;
	return 0;
}
