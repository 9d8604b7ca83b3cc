/* SPDX-License-Identifier: Apache-2.0 */
#include "log/stream.h"

#include <string.h>

void inv_stream_init(struct inv_stream *s, uint32_t number, bool rotated,
		     struct inv_unpacker *unpacker, struct inv_notices *notices)
{
	memset(s, 0, sizeof(*s));
	s->number = number;
	s->rotated = rotated;
	s->unpacker = unpacker;
	s->notices = notices;
}

void inv_stream_release(struct inv_stream *s)
{
	inv_packet_release(&s->packet);
	s->p = NULL;
	s->is_unread = s->is_long = s->is_pending = false;
}

/* Reports damage, counts the remaining events of the packet as unreadable, and
 * closes the packet. */
static void give_up(struct inv_stream *s, const char *what, uint64_t off,
		    uint64_t len)
{
	if (s->at.head.n_events)
		inv_notice_damage(s->notices, s->at.src->name, off, len,
				  "%s: %u event(s) lost", what, s->left);
	else
		inv_notice_damage(s->notices, s->at.src->name, off, len,
				  "%s: names of processes may be missing",
				  what);
	inv_account_unreadable(&s->account, s->left, &s->losses);
	s->left = 0;
	s->p = NULL;
}

/* Skips the first n events of the packet. The stream has returned these events
 * already, from an earlier packet that contains them, too. */
static int skip_events(struct inv_stream *s, uint32_t n)
{
	struct inv_event ev;

	while (n) {
		if (s->p == s->end)
			return INV_EDAMAGED;
		inv_event_decode(&ev, &s->p, s->end, NULL, &s->times);
		if (!s->p)
			return INV_EDAMAGED;
		n -= !ev.note;
	}
	return 0;
}

/* --- the range ------------------------------------------------------------ */

void inv_stream_limit(struct inv_stream *s, const struct inv_range *range)
{
	s->range = *range;
}

/* Returns true if all events of the packet are before the range. An event that
 * is earlier than s->mono_ns gets the time s->mono_ns, because times never
 * decrease. So s->mono_ns must be before the range, too. */
static bool is_before(const struct inv_stream *s,
		      const struct inv_log_packet *h)
{
	return h->end_ns < s->range.from_ns && s->mono_ns < s->range.from_ns;
}

static bool is_after(const struct inv_stream *s, uint64_t begin_ns)
{
	return s->range.limited && begin_ns >= s->range.until_ns;
}

/*
 * Drops the losses that are outside the range. An EVENTS packet reports losses
 * that happened between the beginning of the previous packet and its own end.
 * So these losses are outside the range if this packet is before the range, or
 * if the previous packet is after it.
 *
 * A TOTALS packet reports losses that happened before the beginning of the next
 * EVENTS packet. If the last EVENTS packet was before the range, these losses
 * are undecided until the next EVENTS packet is known.
 */
static void choose_losses(struct inv_stream *s, bool before)
{
	if (before || is_after(s, s->since_ns))
		s->losses.n = 0;
	s->undecided = before;
}

/* If all events of the packet are outside the range, accounts for the s->left
 * events that were not read, and returns true: the packet need not be read.
 * Returns false for packets of notes, which are always read. */
static bool skip_packet(struct inv_stream *s)
{
	const struct inv_log_packet *h = &s->at.head;
	bool before = s->range.limited && is_before(s, h);

	choose_losses(s, before);
	s->since_ns = h->begin_ns;
	if (!h->n_events || !(before || is_after(s, h->begin_ns)))
		return false;
	inv_account_read(&s->account, s->left);
	s->skipped += s->left;
	s->left = 0;
	return true;
}

bool inv_stream_end(struct inv_stream *s)
{
	/* If the last losses are undecided, they may be before the range or
	 * within it. At the end of the stream they count as within it. */
	s->undecided = false;
	return !inv_stream_next(s);
}

/* --- packets -------------------------------------------------------------- */

/* Opens the packet and skips its first `again' events, which were read already
 * from an earlier packet. */
static int open_body(struct inv_stream *s, uint32_t again)
{
	const struct inv_log_packet *h = &s->at.head;
	const char *what = "no memory";
	int rc = inv_packet_open(&s->packet, s->unpacker, &s->at, &what);

	if (rc == INV_ENOMEM)
		return rc;
	if (!rc) {
		s->p = s->packet.events;
		s->end = s->p + s->packet.len;
		s->times = (struct inv_event_times){
			.version_1 = h->type == INV_LOG_EVENTS_1,
			.begin_ns = h->begin_ns,
			.last_ns = h->begin_ns,
		};
		what = "a record is invalid";
		rc = skip_events(s, again);
	}
	if (rc)
		give_up(s, what, s->at.off,
			(uint64_t)h->head_len + h->body_len);
	return 0;
}

static int open_packet(struct inv_stream *s)
{
	const struct inv_log_packet *h = &s->at.head;
	uint32_t again;

	/* The losses that this packet reports are returned with the time of the
	 * packet's beginning, so that the times of items do not decrease. Some
	 * losses may have happened earlier or later. */
	if (h->begin_ns > s->mono_ns)
		s->mono_ns = h->begin_ns;
	inv_account_packet(&s->account, h, s->rotated, &s->losses, &again);
	/* If this packet is damaged, only the events that were not read already
	 * are lost. */
	s->left = h->n_events - again;
	if (skip_packet(s) || (!s->left && h->n_events))
		return 0;
	if (h->n_events && inv_packet_is_long(h)) {
		s->is_unread = true;
		return 0;
	}
	return open_body(s, again);
}

static void read_totals(struct inv_stream *s, uint64_t first_ns)
{
	struct inv_entries e;
	struct inv_log_totals t;

	inv_entries_open(&e, s->unpacker, &s->at);
	if (!inv_entries_of_stream(&e, s->number, &t))
		return;
	inv_account_totals(&s->account, &t, s->rotated, &s->losses);
	if (is_after(s, s->since_ns))
		s->losses.n = 0;
	/* If all events of the stream were lost, the time of the loss is
	 * unknown. The loss then gets the time of the file's first event. */
	if (!s->mono_ns && first_ns != UINT64_MAX)
		s->mono_ns = first_ns;
}

/* Reports an invalid record, and continues with the next record. */
static void skip_invalid(struct inv_stream *s)
{
	/* The packet's checksum was right, so the record was already invalid
	 * when it was written. */
	uint64_t len = (uint64_t)s->at.head.head_len + s->at.head.body_len;
	const uint8_t *next = s->p;
	uint32_t others = s->left ? s->left - 1 : 0;

	if (s->left && next)
		s->left = 1;
	give_up(s, "a record is invalid", s->at.off, len);
	if (next) {
		s->left = others;
		s->p = next;
	}
}

/* Decodes the next record of the open packet. Returns true if the stream
 * returns it: an event, or a note that the reader has not returned early. */
static bool next_record(struct inv_stream *s)
{
	int rc = inv_event_decode(&s->ev, &s->p, s->end, &s->packet.dict,
				  &s->times);

	/* If the packet has more events than its head says, the further events
	 * count as invalid, too. */
	if (rc || (!s->left && !s->ev.note)) {
		skip_invalid(s);
		return false;
	}
	if (s->times.last_ns > s->mono_ns)
		s->mono_ns = s->times.last_ns;
	if (s->ev.note)
		return !s->no_names || s->at.head.n_events ||
		       !inv_note_is_early(s->ev.note);
	s->left--;
	inv_account_read(&s->account, 1);
	return true;
}

/* Returns true if the open packet has another event. If it is a packet of
 * notes, returns true if it has another note. */
static bool has_more(const struct inv_stream *s)
{
	return s->left || (!s->at.head.n_events && s->p < s->end);
}

/*
 * Makes an item of the event of a long packet without reading the event: the
 * packet's head has the time, and inv_stream_load reads the event later. So
 * even if many streams are merged, at most one of them has such an event in
 * memory. If the event was already returned, ends the packet.
 */
static int next_long(struct inv_stream *s)
{
	if (s->is_long) {
		/* s->left is 1 if the caller did not load the event. */
		inv_account_read(&s->account, s->left);
		s->left = 0;
		inv_packet_release_long(&s->packet, s->unpacker);
		s->p = NULL;
		s->is_long = s->is_pending = false;
		return INV_END;
	}
	memset(&s->ev, 0, sizeof(s->ev));
	s->is_loss = s->is_unread = false;
	s->is_long = s->is_pending = true;
	return 0;
}

int inv_stream_load(struct inv_stream *s)
{
	uint64_t ns = s->mono_ns;
	int rc;

	if (!s->is_pending)
		return 0;
	s->is_pending = false;
	rc = open_body(s, 0);
	if (rc)
		return rc;
	if (s->p && next_record(s) && s->ev.note) {
		s->left = 1;
		give_up(s, "a record is invalid", s->at.off,
			(uint64_t)s->at.head.head_len + s->at.head.body_len);
	}
	s->mono_ns = ns;
	return s->losses.n ? inv_stream_next(s) : 0;
}

int inv_stream_next(struct inv_stream *s)
{
	for (;;) {
		if (s->losses.n && !s->undecided) {
			s->losses.n--;
			s->is_loss = true;
			s->lost_n = s->losses.at[s->losses.n].n;
			s->lost_reason = s->losses.at[s->losses.n].reason;
			return 0;
		}
		if (s->is_unread || s->is_long)
			return next_long(s);
		if (!s->p || !has_more(s)) {
			s->p = NULL;
			return INV_END;
		}
		if (next_record(s)) {
			s->is_loss = false;
			return 0;
		}
	}
}

int inv_stream_take_notes(struct inv_stream *s, const struct inv_log_place *at)
{
	s->at = *at;
	return open_body(s, 0);
}

int inv_stream_take(struct inv_stream *s, const struct inv_log_place *at,
		    uint64_t first_ns)
{
	s->at = *at;
	if (at->head.type != INV_LOG_TOTALS)
		return open_packet(s);
	read_totals(s, first_ns);
	return 0;
}
