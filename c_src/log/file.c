/* SPDX-License-Identifier: Apache-2.0 */
#include "log/file.h"

#include <stdlib.h>
#include <string.h>

#include "abi/ring.h"
#include "log/packet.h"

int inv_log_is(const struct inv_source *src, bool *is)
{
	struct inv_window w;
	int rc = inv_window_init(&w, src, INV_SCAN_WINDOW);

	if (rc)
		return rc;
	*is = inv_log_about_is(&w);
	inv_window_release(&w);
	return 0;
}

/* --- the index ------------------------------------------------------------ */

/*
 * An entry of the index is a 64-bit word for one packet. It consists of the
 * packet's offset, the bits NOTES and DAMAGED, and the number of the packet's
 * stream. NOTES: the packet has no events. DAMAGED: the scan has found that the
 * checksum of the body is wrong, so readers need not compute it again. An
 * ANCHORS or TOTALS packet belongs to no stream; its entry has one of these
 * values instead of a stream's number:
 */
#define ANCHORS INV_RINGS_MAX
#define TOTALS (INV_RINGS_MAX + 1)

#define STREAM_BITS 13
#define DAMAGED (UINT64_C(1) << STREAM_BITS)
#define NOTES (DAMAGED << 1)
#define OFF_SHIFT (STREAM_BITS + 2)
#define OFF_MAX (UINT64_MAX >> OFF_SHIFT)
_Static_assert(TOTALS < 1 << STREAM_BITS, "fits");

static uint32_t stream_of(uint64_t entry)
{
	return (uint32_t)(entry & (DAMAGED - 1));
}

static bool is_notes(const struct inv_log_packet *h)
{
	return h->type == INV_LOG_EVENTS && !h->n_events;
}

static int add_packet(struct inv_log_file *f, const struct inv_log_place *at,
		      uint32_t of)
{
	uint64_t *more;

	/* The array has space for 0, 1, 3, 7, … entries, so it is full if
	 * n_index is one of these numbers. */
	if (!(f->n_index & (f->n_index + 1))) {
		more = realloc(f->index, (2 * f->n_index + 1) * sizeof(*more));
		if (!more)
			return INV_ENOMEM;
		f->index = more;
	}
	f->index[f->n_index++] = at->off << OFF_SHIFT |
				 (is_notes(&at->head) ? NOTES : 0) |
				 (at->damaged ? DAMAGED : 0) | of;
	return 0;
}

/* Frees the unused memory at the end of the index, which is now complete. */
static void give_back(struct inv_log_file *f)
{
	uint64_t *less = f->n_index ?
				 realloc(f->index, f->n_index * sizeof(*less)) :
				 NULL;

	if (less)
		f->index = less;
}

/* --- the survey ----------------------------------------------------------- */

/* Each stream decompresses the file's TOTALS packets. This is the maximum
 * number of decompressed bytes, for all streams together. To decompress this
 * many bytes takes a few seconds. */
#define PACKED_TOTALS_MAX (UINT64_C(1) << 36)

/* Raises f->n_streams, if necessary, so that it includes all streams in a
 * TOTALS packet. A stream that lost all its events occurs in no other
 * packet. */
static void count_totals(struct inv_log_file *f, const struct inv_log_place *at,
			 struct inv_unpacker *u)
{
	struct inv_entries e;
	struct inv_log_totals t;

	f->last_totals = at->off;
	if (at->head.codec != INV_CODEC_NONE)
		f->packed_totals += at->head.raw_len;
	inv_entries_open(&e, u, at);
	for (uint32_t i = 0; inv_entries_totals(&e, i, &t); i++) {
		if (t.stream < INV_RINGS_MAX && t.stream >= f->n_streams)
			f->n_streams = t.stream + 1;
		if (t.produced != t.recorded)
			f->lossy = true;
	}
}

static bool has_losses(const struct inv_log_packet *h)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < INV_LOSS_COUNT; i++)
		lost |= h->dropped[i];
	return lost != 0;
}

static int count(struct inv_log_file *f, const struct inv_log_place *at,
		 struct inv_unpacker *u)
{
	const struct inv_log_packet *h = &at->head;

	f->last = *h;
	f->lossy = f->lossy || at->damaged || has_losses(h);
	switch (h->type) {
	case INV_LOG_TOTALS:
		count_totals(f, at, u);
		return add_packet(f, at, TOTALS);
	case INV_LOG_ANCHORS:
		return add_packet(f, at, ANCHORS);
	case INV_LOG_EVENTS:
	case INV_LOG_EVENTS_1:
		if (h->stream >= f->n_streams)
			f->n_streams = h->stream + 1;
		if (h->begin_ns < f->first_ns)
			f->first_ns = h->begin_ns;
		return add_packet(f, at, h->stream);
	default:
		return 0;
	}
}

static int survey(struct inv_log_file *f, struct inv_window *w,
		  struct inv_notices *ns, uint64_t off)
{
	struct inv_scan scan = { .off = off };
	struct inv_unpacker *u = inv_unpacker_new();
	struct inv_scan_step step;
	int rc = u ? 0 : INV_ENOMEM;

	f->first_ns = UINT64_MAX;
	while (!rc && !inv_scan_next(&scan, w, &step)) {
		if (!step.is_gap)
			rc = count(f, &step.at, u);
		else if (step.what) {
			inv_notice_damage(ns, f->src.name, step.off, step.len,
					  "%s", step.what);
			f->lossy = true;
		}
	}
	inv_unpacker_free(u);
	give_back(f);
	return rc;
}

static int read_file(struct inv_log_file *f, struct inv_notices *ns,
		     struct inv_err *err)
{
	struct inv_window w;
	uint64_t start = 0;
	int rc = inv_window_init(&w, &f->src, INV_SCAN_WINDOW);

	if (!rc)
		rc = inv_log_about_read(&f->about, &w, ns, &start, err);
	if (!rc)
		rc = survey(f, &w, ns, start);
	inv_window_release(&w);
	if (rc == INV_ENOMEM)
		return inv_err_set(err, rc, "%s: no memory", f->src.name);
	return rc;
}

int inv_log_file_open(struct inv_log_file *f, struct inv_source *src,
		      struct inv_notices *ns, struct inv_err *err)
{
	int rc;

	memset(f, 0, sizeof(*f));
	f->src = *src;
	memset(src, 0, sizeof(*src));
	if (f->src.size > OFF_MAX)
		rc = inv_err_set(err, INV_EFORMAT, "%s: too large for a log",
				 f->src.name);
	else
		rc = read_file(f, ns, err);
	if (rc)
		inv_log_file_close(f);
	return rc;
}

void inv_log_file_close(struct inv_log_file *f)
{
	inv_log_about_release(&f->about);
	free(f->index);
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

static bool wanted(const struct inv_log_file *f, uint64_t entry,
		   uint32_t stream)
{
	if (stream == INV_LOG_ANCHORS_ONLY)
		return stream_of(entry) == ANCHORS;
	if (stream == INV_LOG_NOTES_ONLY)
		return entry & NOTES;
	if (stream_of(entry) == TOTALS)
		return !f->last_totals_only ||
		       entry >> OFF_SHIFT == f->last_totals ||
		       stream == INV_LOG_TOTALS_ONLY;
	return stream_of(entry) == stream;
}

/* Reads the head of the packet to which an entry of the index refers. Returns
 * false if the head has become invalid since the file was opened. */
static bool take(const struct inv_log_file *f, uint64_t entry,
		 struct inv_log_place *at)
{
	uint8_t head[sizeof(at->head)];
	uint64_t off = entry >> OFF_SHIFT;

	inv_source_copy(&f->src, off, head, sizeof(head));
	if (!inv_scan_head(head, &at->head))
		return false;
	at->damaged = entry & DAMAGED;
	inv_scan_locate(at, &f->src, off);
	return true;
}

int inv_log_cursor_seek(struct inv_log_cursor *c, const struct inv_log_file *f,
			uint32_t stream, struct inv_log_place *at)
{
	while (c->next < f->n_index) {
		uint64_t entry = f->index[c->next++];

		if (!wanted(f, entry, stream))
			continue;
		if (take(f, entry, at))
			return 0;
		inv_source_changed(&f->src, entry >> OFF_SHIFT);
		c->next = f->n_index;
	}
	return INV_END;
}
