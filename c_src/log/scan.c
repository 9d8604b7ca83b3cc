/* SPDX-License-Identifier: Apache-2.0 */
#include "log/scan.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "abi/ring.h"
#include "base/err.h"
#include "log/packet.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "the structs of abi/log.h are copied as they lie in the file");

static uint64_t end_of(const struct inv_window *w)
{
	return w->src->size;
}

/* Returns false if the lengths in the head exceed the limits. A packet with
 * exactly one event has higher limits. */
static bool lengths_sound(const struct inv_log_packet *h)
{
	if (h->type == INV_LOG_EVENTS && h->n_events == 1)
		return h->raw_len <= INV_EVENT_MAX &&
		       h->def_len <= INV_EVENT_DEFS_MAX &&
		       h->body_len <= INV_EVENT_BODY_MAX;
	return h->raw_len <= INV_PACKET_RAW_MAX &&
	       h->body_len <= INV_PACKET_BODY_MAX;
}

bool inv_scan_head(const uint8_t *p, struct inv_log_packet *h)
{
	memcpy(h, p, sizeof(*h));
	if (h->sync != INV_LOG_SYNC || h->head_len < sizeof(*h) ||
	    !lengths_sound(h) ||
	    h->head_sum !=
		    XXH64(p, offsetof(struct inv_log_packet, head_sum), 0))
		return false;
	if (!inv_log_is_events(h->type))
		return true;
	return h->stream < INV_RINGS_MAX && h->def_len <= h->raw_len &&
	       h->n_events <= h->raw_len;
}

/* Returns true if there is a valid packet head at off. The body may extend
 * beyond the available bytes. */
static bool head_at(struct inv_window *w, uint64_t off,
		    struct inv_log_packet *h)
{
	if (off > end_of(w) || end_of(w) - off < sizeof(*h))
		return false;
	return inv_scan_head(inv_window_get(w, off, sizeof(*h)), h);
}

uint64_t inv_scan_packet_len(const struct inv_source *src, uint64_t off,
			     const struct inv_log_packet *h)
{
	uint64_t left = src->size - off;

	if (h->head_len > left || h->body_len > left - h->head_len)
		return 0;
	return (uint64_t)h->head_len + h->body_len;
}

void inv_scan_locate(struct inv_log_place *at, const struct inv_source *src,
		     uint64_t off)
{
	at->src = src;
	at->off = off;
	at->body = NULL;
	at->cut = !inv_scan_packet_len(src, off, &at->head);
	if (!at->cut && !at->damaged && src->data)
		at->body = src->data + (off - src->begin) + at->head.head_len;
}

bool inv_scan_find_head(struct inv_window *w, uint64_t *off, uint64_t end)
{
	static const uint32_t sync = INV_LOG_SYNC;
	struct inv_log_packet h;

	while (*off < end && end - *off >= sizeof(h)) {
		size_t n;
		const uint8_t *p = inv_window_rest(w, *off, &n);
		const uint8_t *found;

		if (n > end - *off)
			n = (size_t)(end - *off);
		found = memmem(p, n, &sync, sizeof(sync));
		if (!found) {
			*off += n - (sizeof(sync) - 1);
			continue;
		}
		*off += (uint64_t)(found - p);
		if (end - *off < sizeof(h))
			break;
		if (head_at(w, *off, &h))
			return true;
		++*off;
	}
	if (!w->src->growing)
		*off = end;
	return false;
}

/*
 * A limit for the hashing of damaged bodies. The search for the next packet
 * continues inside a damaged body, so damaged bodies can overlap. In a
 * malicious file, every few bytes could be a head with a body of maximum
 * length, and hashing all of them would take very long. So the scan hashes at
 * most 64 MiB plus four times the size of the file in bodies whose checksum is
 * wrong. Accidental damage stays far below this limit.
 */
#define IN_VAIN_TIMES 4u
#define IN_VAIN_MIN (64u * 1024 * 1024)

/* Returns the checksum of the len bytes at off. They may be more bytes than fit
 * into the window. */
static uint64_t sum(struct inv_window *w, uint64_t off, uint64_t len)
{
	XXH64_state_t state;
	uint64_t n;

	if (len <= INV_PACKET_BODY_MAX)
		return XXH64(inv_window_get(w, off, len), len, 0);
	XXH64_reset(&state, 0);
	for (; len > 0; off += n, len -= n) {
		n = len < INV_PACKET_BODY_MAX ? len : INV_PACKET_BODY_MAX;
		XXH64_update(&state, inv_window_get(w, off, n), n);
	}
	return XXH64_digest(&state);
}

/* Returns true if the body of the packet at s->off has the right checksum. */
static bool body_sound(struct inv_scan *s, struct inv_window *w,
		       const struct inv_log_packet *h)
{
	uint64_t limit = IN_VAIN_MIN + IN_VAIN_TIMES * end_of(w);

	if (!inv_scan_packet_len(w->src, s->off, h) ||
	    s->in_vain + h->body_len > limit)
		return false;
	if (sum(w, s->off + h->head_len, h->body_len) == h->body_sum)
		return true;
	s->in_vain += h->body_len;
	return false;
}

void inv_scan_lose(struct inv_scan *s, uint64_t from, const char *what)
{
	s->lost = true;
	s->gap = s->off;
	s->off = from;
	s->what = what;
}

static int find_end_of_gap(struct inv_scan *s, struct inv_window *w,
			   struct inv_scan_step *step)
{
	if (!inv_scan_find_head(w, &s->off, end_of(w)) && w->src->growing)
		return INV_END;
	s->lost = false;
	step->is_gap = true;
	step->off = s->gap;
	step->len = s->off - s->gap;
	step->what = s->what;
	return 0;
}

static void give(struct inv_scan *s, const struct inv_window *w,
		 const struct inv_log_packet *h, uint64_t len, bool damaged,
		 struct inv_scan_step *step)
{
	uint64_t body = s->off + h->head_len;

	step->is_gap = false;
	step->at.head = *h;
	/* A packet with an empty body does not count as damaged, because its
	 * reader needs no bytes of the body. */
	step->at.damaged = len && damaged && h->body_len;
	inv_scan_locate(&step->at, w->src, s->off);
	if (!damaged) {
		s->off += len;
		return;
	}
	s->off = body < end_of(w) ? body : end_of(w);
	inv_scan_lose(s, s->off, NULL);
}

/*
 * Takes an EVENTS packet. If no packet follows it, and its body's checksum is
 * wrong, bytes of the packet are missing or were added. The next packet may
 * then start before the end that the head gives, so the search continues inside
 * the body. The reader of the body reports the damage.
 */
static int take_events(struct inv_scan *s, struct inv_window *w,
		       const struct inv_log_packet *h, uint64_t len,
		       struct inv_scan_step *step)
{
	uint64_t next = s->off + len;
	uint64_t in_vain = s->in_vain;
	struct inv_log_packet other;
	bool sound = len && ((!w->src->growing && next == end_of(w)) ||
			     head_at(w, next, &other) || body_sound(s, w, h));

	if (!sound && w->src->growing && end_of(w) - next < sizeof(other)) {
		s->in_vain = in_vain; /* do not count the bytes that were hashed
				       * now: they will be hashed again when
				       * more bytes have arrived */
		return INV_END;
	}
	give(s, w, h, len, !sound, step);
	return 0;
}

/* Takes the packet at s->off, or starts a gap there. */
static int take(struct inv_scan *s, struct inv_window *w,
		const struct inv_log_packet *h, struct inv_scan_step *step)
{
	uint64_t len = inv_scan_packet_len(w->src, s->off, h);

	if (!len && w->src->growing)
		return INV_END;
	if (inv_log_is_events(h->type))
		return take_events(s, w, h, len, step);
	if (body_sound(s, w, h)) {
		give(s, w, h, len, false, step);
		return 0;
	}
	inv_scan_lose(s, s->off + 1,
		      len ? "a packet's body is damaged" :
			    "the file ends within a packet");
	return find_end_of_gap(s, w, step);
}

int inv_scan_next(struct inv_scan *s, struct inv_window *w,
		  struct inv_scan_step *step)
{
	struct inv_log_packet h;

	if (s->lost)
		return find_end_of_gap(s, w, step);
	if (s->off == end_of(w))
		return INV_END;
	if (head_at(w, s->off, &h))
		return take(s, w, &h, step);
	if (end_of(w) - s->off < sizeof(h) && w->src->growing)
		return INV_END;
	inv_scan_lose(s, s->off, "no packet");
	return find_end_of_gap(s, w, step);
}
