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

	/* The array is full if n_gaps is 0, 1, 3, 7, … */
	if (!(f->n_gaps & (f->n_gaps + 1))) {
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

/* The most bytes that all streams together unpack for their totals: a few
 * seconds. */
#define PACKED_TOTALS_MAX (UINT64_C(1) << 36)

/* Counts the streams in a TOTALS packet, because a stream that lost all its
 * events has no other packet. */
static void count_totals(struct inv_log_file *f, const struct inv_log_place *at,
			 struct inv_unpacker *u)
{
	struct inv_entries e;
	struct inv_log_totals t;

	f->last_totals = at->off;
	if (at->head.codec != INV_CODEC_NONE)
		f->packed_totals += at->head.raw_len;
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
	if (!inv_log_is_events(h->type))
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
	if (!rc && off) /* stores the head as a gap, so that cursors skip it */
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

void inv_log_file_share(struct inv_log_file *f, uint32_t n_streams,
			struct inv_notices *ns)
{
	if (!n_streams || f->packed_totals <= PACKED_TOTALS_MAX / n_streams)
		return;
	f->last_totals_only = true;
	inv_notice_info(ns, f->src.name,
			"too many totals for its %u streams: only the last "
			"totals are read, and losses are reported late",
			n_streams);
}

/* --- cursors -------------------------------------------------------------- */

/* Skips the gap that begins at or before the cursor. */
static void cross_gaps(struct inv_log_cursor *c, const struct inv_log_file *f)
{
	while (c->gap < f->n_gaps && f->gaps[c->gap].off <= c->off) {
		const struct inv_log_gap *g = &f->gaps[c->gap++];

		c->off = g->off + g->len;
	}
}

/* Call it if the file has changed since the survey, and there is no head at the
 * cursor. Moves the cursor to the end. */
static bool changed(struct inv_log_cursor *c, const struct inv_log_file *f)
{
	inv_source_changed(&f->src, c->off);
	c->off = f->src.size;
	c->gap = f->n_gaps;
	return false;
}

/* Reads the head at the cursor. Does not verify the head, because the survey
 * has verified it. */
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

/* Returns true if the survey found the body damaged, which shows as a gap that
 * starts right after the head. Then the body need not be hashed again. */
static bool known_damaged(const struct inv_log_cursor *c,
			  const struct inv_log_file *f,
			  const struct inv_log_packet *h)
{
	return h->body_len && c->gap < f->n_gaps &&
	       f->gaps[c->gap].off == c->off + h->head_len;
}

/* Sets *at to the packet at the cursor. Returns false if the head has changed
 * since the survey. */
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

static bool wanted(const struct inv_log_cursor *c, const struct inv_log_file *f,
		   const struct inv_log_packet *h, uint32_t stream)
{
	if (stream == INV_LOG_ANCHORS_ONLY)
		return h->type == INV_LOG_ANCHORS;
	if (h->type == INV_LOG_TOTALS)
		return !f->last_totals_only || c->off == f->last_totals ||
		       stream == INV_LOG_TOTALS_ONLY;
	return inv_log_is_events(h->type) && h->stream == stream;
}

int inv_log_cursor_seek(struct inv_log_cursor *c, const struct inv_log_file *f,
			uint32_t stream, struct inv_log_place *at)
{
	struct inv_log_packet h;

	while (known_head(c, f, &h)) {
		if (wanted(c, f, &h, stream))
			return take(c, f, at) ? 0 : INV_END;
		advance(c, f, &h);
	}
	return INV_END;
}
