/* SPDX-License-Identifier: Apache-2.0 */
#include "log/tracefile.h"

#include <stdlib.h>
#include <string.h>

#include "log/etf_event.h"
#include "log/record.h"
#include "log/utf8.h"

struct tracefile {
	struct inv_feed feed;
	struct inv_source *sources;
	uint32_t n_sources;
	uint32_t source;
	struct inv_window window; /* the window of sources[source]; all zero
				     before the first record is read */
	uint64_t off;
	struct inv_notices *notices;
	bool told_monotonic;
	struct inv_etf_event event;
	struct inv_cursor cursor;
};

static void give_loss(struct inv_item *it, uint64_t n, unsigned reason)
{
	it->kind = INV_ITEM_LOSS;
	it->lost.n = n;
	it->lost.reason = reason;
}

/* If the timestamp of the event is monotonic time, makes a notice, because such
 * times cannot be compared with times of other nodes. Makes only one such
 * notice for all files of the feed. */
static void check_kind(struct tracefile *t, const struct inv_source *src)
{
	unsigned kind = t->event.ev.ts_kind;

	if (t->told_monotonic ||
	    (kind != INV_TS_MONOTONIC && kind != INV_TS_STRICT))
		return;
	t->told_monotonic = true;
	inv_notice_info(t->notices, src->name,
			"its times are monotonic, not wall clock times");
}

static void give_event(struct tracefile *t, const struct inv_source *src)
{
	struct inv_item *it = &t->feed.item;

	if (t->event.timed) {
		check_kind(t, src);
		it->ts_ns = t->event.ts_ns;
		it->erl_ns = t->event.ts_ns;
		it->mono_ns = t->event.ts_ns;
	}
	if (t->event.is_drop) {
		give_loss(it, t->event.dropped, INV_LOST_TRACER);
		return;
	}
	it->kind = INV_ITEM_EVENT;
	it->ev = t->event.ev;
}

/* Makes an item of the record *f. */
static void give(struct tracefile *t, struct inv_record *f)
{
	struct inv_item *it = &t->feed.item;

	if (f->is_drop) {
		give_loss(it, f->n, INV_LOST_TRACER);
	} else if (!f->term) {
		give_loss(it, 1, INV_LOST_UNREADABLE);
	} else if (inv_etf_event_decode(&t->event, &t->cursor, f->term,
					f->term_len)) {
		inv_record_bad_term(&t->window, &t->off, t->notices, f);
		give_loss(it, 1, INV_LOST_UNREADABLE);
	} else {
		give_event(t, t->window.src);
	}
}

static int tracefile_next(struct inv_feed *feed)
{
	struct tracefile *t = (struct tracefile *)feed;
	struct inv_record f;
	int rc = INV_END;

	for (; t->source < t->n_sources; t->source++, t->off = 0) {
		const struct inv_source *src = &t->sources[t->source];

		rc = 0;
		if (t->window.src != src) {
			inv_window_release(&t->window);
			rc = inv_window_init(&t->window, src,
					     INV_RECORD_WINDOW);
		}
		if (!rc)
			rc = inv_record_next(&t->window, &t->off, t->notices,
					     &f);
		if (!rc)
			give(t, &f);
		if (rc != INV_END)
			break;
	}
	return rc;
}

static void close_sources(struct inv_source *sources, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		inv_source_close(&sources[i]);
	free(sources);
}

static void tracefile_free(struct inv_feed *feed)
{
	struct tracefile *t = (struct tracefile *)feed;

	inv_window_release(&t->window);
	close_sources(t->sources, t->n_sources);
	free(t);
}

static const struct inv_feed_ops tracefile_ops = {
	.next = tracefile_next,
	.free = tracefile_free,
};

int inv_tracefile_new(struct inv_feed **feed, struct inv_source *sources,
		      uint32_t n_sources, const struct inv_node *node,
		      struct inv_notices *notices, struct inv_err *err)
{
	struct tracefile *t = calloc(1, sizeof(*t));

	if (!t) {
		close_sources(sources, n_sources);
		return inv_err_set(err, INV_ENOMEM, "no memory");
	}
	t->feed.ops = &tracefile_ops;
	t->feed.node = node;
	t->feed.item.node = node;
	t->feed.first_ns = INT64_MAX;
	t->sources = sources;
	t->n_sources = n_sources;
	t->notices = notices;
	*feed = &t->feed;
	return 0;
}

/* --- the kind of a file --------------------------------------------------- */

/* If the first 64 records do not show the kind of a file, it stays unknown. */
#define PROBE_RECORDS 64

static void take_node(struct inv_tracefile_info *info,
		      const struct inv_token *tok)
{
	if (!info->node &&
	    (tok->kind == INV_TOK_PID || tok->kind == INV_TOK_PORT) && tok->len)
		info->node =
			inv_utf8_node_name((const char *)tok->bytes, tok->len);
}

/* Reads {PidOrOther, Alias, alias | unalias, {Mega,Sec,Micro}}. */
static bool probe_ti(struct inv_tracefile_info *info, struct inv_cursor *c,
		     const struct inv_record *f)
{
	struct inv_token tok;

	inv_cursor_init(c, INV_ENC_ETF, NULL, f->term, f->term_len);
	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_TUPLE ||
	    tok.count != 4 || inv_cursor_next(c, &tok))
		return false;
	take_node(info, &tok);
	return !inv_cursor_skip_rest(c, &tok) && !inv_cursor_skip(c) &&
	       !inv_cursor_next(c, &tok) &&
	       (inv_token_is(&tok, "alias") || inv_token_is(&tok, "unalias"));
}

static void probe_trace(struct inv_tracefile_info *info, struct inv_cursor *c,
			const struct inv_record *f)
{
	struct inv_etf_event *e = calloc(1, sizeof(*e));
	struct inv_token tok;

	if (!e || inv_etf_event_decode(e, c, f->term, f->term_len) ||
	    e->ev.bare) {
		free(e);
		return;
	}
	info->is_trace = true;
	if (e->timed && !info->timed) {
		info->timed = true;
		info->ts_ns = e->ts_ns;
	}
	if (!e->is_drop && !inv_event_tracee(&e->ev, c, &tok))
		take_node(info, &tok);
	free(e);
}

static int probe(struct inv_window *w, struct inv_tracefile_info *info,
		 struct inv_cursor *c)
{
	struct inv_notices quiet = { 0 };
	struct inv_record f;
	uint64_t off = 0;

	for (unsigned i = 0; i < PROBE_RECORDS; i++) {
		int rc = inv_record_next(w, &off, &quiet, &f);

		if (rc)
			return rc;
		if (!f.term)
			continue;
		if (!info->is_trace && probe_ti(info, c, &f))
			info->is_ti = true;
		else if (!info->is_ti)
			probe_trace(info, c, &f);
		if (info->node && (info->is_ti || info->timed))
			break;
	}
	return 0;
}

int inv_tracefile_probe(const struct inv_source *src,
			struct inv_tracefile_info *info)
{
	struct inv_cursor *c = malloc(sizeof(*c));
	struct inv_window w;
	int rc = inv_window_init(&w, src, INV_RECORD_WINDOW);

	memset(info, 0, sizeof(*info));
	if (!c)
		rc = INV_ENOMEM;
	if (!rc)
		rc = probe(&w, info, c);
	inv_window_release(&w);
	free(c);
	return rc < 0 ? rc : 0;
}
