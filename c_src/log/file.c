/* SPDX-License-Identifier: Apache-2.0 */
#include "log/file.h"

#include <stdlib.h>
#include <string.h>

#include "abi/ring.h"
#include "log/packet.h"

static struct inv_scan_bytes bytes_of(const struct inv_source *src)
{
	return (struct inv_scan_bytes){ .data = src->data,
					.size = src->size,
					.last = true };
}

bool inv_log_is(const struct inv_source *src)
{
	struct inv_scan_bytes b = bytes_of(src);

	return inv_log_about_is(&b);
}

/* --- the survey ----------------------------------------------------------- */

static int add_gap(struct inv_log_file *f, uint64_t off, uint64_t len)
{
	struct inv_log_gap *g;

	if (!(f->n_gaps & (f->n_gaps + 1))) { /* 0, 1, 3, 7, …: full */
		g = realloc(f->gaps, (2 * f->n_gaps + 1) * sizeof(*g));
		if (!g)
			return INV_ENOMEM;
		f->gaps = g;
	}
	g = &f->gaps[f->n_gaps++];
	g->off = off;
	g->len = len;
	return 0;
}

/* A stream may have lost all it had: then only its totals tell of it. */
static void count_totals(struct inv_log_file *f, const struct inv_log_place *at,
			 struct inv_unpacker *u)
{
	struct inv_entries e;
	struct inv_log_totals t;

	inv_entries_open(&e, u, at);
	for (uint32_t i = 0; inv_entries_totals(&e, i, &t); i++)
		if (t.stream < INV_RINGS_MAX && t.stream >= f->n_streams)
			f->n_streams = t.stream + 1;
}

static void count(struct inv_log_file *f, const struct inv_log_place *at,
		  struct inv_unpacker *u)
{
	const struct inv_log_packet *h = &at->head;

	f->n_packets++;
	f->last = *h;
	if (h->type == INV_LOG_TOTALS)
		count_totals(f, at, u);
	if (h->type != INV_LOG_EVENTS)
		return;
	f->n_events += h->n_events;
	if (h->stream >= f->n_streams)
		f->n_streams = h->stream + 1;
	if (h->begin_ns < f->first_ns)
		f->first_ns = h->begin_ns;
}

static int survey(struct inv_log_file *f, struct inv_notices *ns, uint64_t off)
{
	struct inv_scan_bytes b = bytes_of(&f->src);
	struct inv_scan scan = { .off = off };
	struct inv_unpacker *u = inv_unpacker_new();
	struct inv_scan_step step;
	int rc = u ? 0 : INV_ENOMEM;

	f->first_ns = UINT64_MAX;
	if (!rc && off) /* the head, as a gap that every cursor starts behind */
		rc = add_gap(f, 0, off);
	while (!rc && !inv_scan_next(&scan, &b, &step)) {
		if (!step.is_gap) {
			count(f, &step.at, u);
			continue;
		}
		if (step.what)
			inv_notice_damage(ns, f->src.name, step.off, step.len,
					  "%s", step.what);
		rc = add_gap(f, step.off, step.len);
	}
	inv_unpacker_free(u);
	return rc;
}

int inv_log_file_open(struct inv_log_file *f, struct inv_source *src,
		      struct inv_notices *ns, struct inv_err *err)
{
	struct inv_scan_bytes b = bytes_of(src);
	uint64_t start = 0;
	int rc;

	memset(f, 0, sizeof(*f));
	f->src = *src;
	memset(src, 0, sizeof(*src));
	rc = inv_log_about_read(&f->about, &b, f->src.name, ns, &start, err);
	if (!rc && survey(f, ns, start))
		rc = inv_err_set(err, INV_ENOMEM, "%s: no memory", f->src.name);
	if (rc)
		inv_log_file_close(f);
	return rc;
}

void inv_log_file_close(struct inv_log_file *f)
{
	inv_log_about_release(&f->about);
	free(f->gaps);
	inv_source_close(&f->src);
	memset(f, 0, sizeof(*f));
}

/* --- cursors -------------------------------------------------------------- */

/* Steps over the gap that begins at or before the cursor. */
static void cross_gaps(struct inv_log_cursor *c, const struct inv_log_file *f)
{
	while (c->gap < f->n_gaps && f->gaps[c->gap].off <= c->off) {
		const struct inv_log_gap *g = &f->gaps[c->gap++];

		c->off = g->off + g->len;
	}
}

/* The survey saw a head where now is none: there is nothing to step on. */
static bool changed(struct inv_log_cursor *c, const struct inv_log_file *f)
{
	inv_source_changed(&f->src, c->off);
	c->off = f->src.size;
	c->gap = f->n_gaps;
	return false;
}

/* What the survey has seen is not verified again to step over it. */
static bool known_head(struct inv_log_cursor *c, const struct inv_log_file *f,
		       struct inv_log_packet *h)
{
	cross_gaps(c, f);
	if (sizeof(*h) > f->src.size || c->off > f->src.size - sizeof(*h))
		return false;
	memcpy(h, f->src.data + c->off, offsetof(struct inv_log_packet, seq));
	if (h->sync != INV_LOG_SYNC || h->head_len < sizeof(*h))
		return changed(c, f);
	return true;
}

static void advance(struct inv_log_cursor *c, const struct inv_log_file *f,
		    const struct inv_log_packet *h)
{
	struct inv_scan_bytes b = bytes_of(&f->src);
	uint64_t len = inv_scan_packet_len(&b, c->off, h);

	c->off = len ? c->off + len : f->src.size;
}

/* A gap right behind a head is the body: not to be hashed in vain again. */
static bool known_damaged(const struct inv_log_cursor *c,
			  const struct inv_log_file *f,
			  const struct inv_log_packet *h)
{
	return h->body_len && c->gap < f->n_gaps &&
	       f->gaps[c->gap].off == c->off + h->head_len;
}

/* false: it is not what it was. */
static bool take(struct inv_log_cursor *c, const struct inv_log_file *f,
		 struct inv_log_place *at)
{
	struct inv_scan_bytes b = bytes_of(&f->src);
	bool whole;

	if (!inv_scan_head_at(&b, c->off, &at->head))
		return changed(c, f);
	at->file = f->src.name;
	at->off = c->off;
	whole = inv_scan_packet_len(&b, c->off, &at->head);
	at->damaged = whole && known_damaged(c, f, &at->head);
	at->body = NULL;
	if (whole && !at->damaged)
		at->body = f->src.data + c->off + at->head.head_len;
	advance(c, f, &at->head);
	return true;
}

int inv_log_cursor_seek(struct inv_log_cursor *c, const struct inv_log_file *f,
			uint32_t stream, struct inv_log_place *at)
{
	struct inv_log_packet h;

	while (known_head(c, f, &h)) {
		if (h.type == INV_LOG_TOTALS ||
		    (h.type == INV_LOG_EVENTS && h.stream == stream)) {
			return take(c, f, at) ? 0 : INV_END;
		}
		advance(c, f, &h);
	}
	return INV_END;
}

int inv_log_cursor_anchors(struct inv_log_cursor *c,
			   const struct inv_log_file *f,
			   struct inv_log_place *at)
{
	struct inv_log_packet h;

	while (known_head(c, f, &h)) {
		if (h.type == INV_LOG_ANCHORS) {
			return take(c, f, at) ? 0 : INV_END;
		}
		advance(c, f, &h);
	}
	return INV_END;
}
