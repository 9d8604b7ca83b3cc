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

static uint64_t end_of(const struct inv_scan_bytes *b)
{
	return b->off + b->size;
}

bool inv_scan_head_at(const struct inv_scan_bytes *b, uint64_t off,
		      struct inv_log_packet *h)
{
	const uint8_t *p;

	if (sizeof(*h) > b->size || off > end_of(b) - sizeof(*h))
		return false;
	p = b->data + (off - b->off);
	memcpy(h, p, sizeof(*h));
	if (h->sync != INV_LOG_SYNC || h->head_len < sizeof(*h) ||
	    h->body_len > INV_PACKET_BODY_MAX ||
	    h->raw_len > INV_PACKET_RAW_MAX ||
	    h->head_sum !=
		    XXH64(p, offsetof(struct inv_log_packet, head_sum), 0))
		return false;
	if (!inv_log_is_events(h->type))
		return true;
	return h->stream < INV_RINGS_MAX && h->def_len <= h->raw_len &&
	       h->n_events <= h->raw_len;
}

uint64_t inv_scan_packet_len(const struct inv_scan_bytes *b, uint64_t off,
			     const struct inv_log_packet *h)
{
	uint64_t left = end_of(b) - off;

	if (h->head_len > left || h->body_len > left - h->head_len)
		return 0;
	return (uint64_t)h->head_len + h->body_len;
}

bool inv_scan_find_head(const struct inv_scan_bytes *b, uint64_t *off)
{
	static const uint32_t sync = INV_LOG_SYNC;
	struct inv_log_packet h;
	size_t at = (size_t)(*off - b->off);

	while (at < b->size && b->size - at >= sizeof(h)) {
		const uint8_t *p =
			memmem(b->data + at, b->size - at, &sync, sizeof(sync));

		if (!p) {
			at = b->size - (sizeof(sync) - 1);
			break;
		}
		at = (size_t)(p - b->data);
		*off = b->off + at;
		if (b->size - at < sizeof(h))
			break;
		if (inv_scan_head_at(b, *off, &h))
			return true;
		at++;
	}
	*off = b->off + (b->last ? b->size : at);
	return false;
}

/*
 * Limits the hashing of damaged bodies. Because the search for the next packet
 * continues inside a damaged body, such bodies can overlap. In a malicious
 * file, every few bytes could be a head with a body of maximum length. So at
 * most 64 MiB plus four times the size of the file are hashed without finding a
 * valid packet. Accidental damage stays far below this limit.
 */
#define IN_VAIN_TIMES 4u
#define IN_VAIN_MIN (64u * 1024 * 1024)

/* Returns true if the body of the packet at s->off has the right checksum. */
static bool body_sound(struct inv_scan *s, const struct inv_scan_bytes *b,
		       const struct inv_log_packet *h)
{
	uint64_t limit = IN_VAIN_MIN + IN_VAIN_TIMES * end_of(b);
	const uint8_t *p = b->data + (s->off - b->off);

	if (!inv_scan_packet_len(b, s->off, h) ||
	    s->in_vain + h->body_len > limit)
		return false;
	if (XXH64(p + h->head_len, h->body_len, 0) == h->body_sum)
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

static int find_end_of_gap(struct inv_scan *s, const struct inv_scan_bytes *b,
			   struct inv_scan_step *step)
{
	if (!inv_scan_find_head(b, &s->off) && !b->last)
		return INV_END;
	s->lost = false;
	step->is_gap = true;
	step->off = s->gap;
	step->len = s->off - s->gap;
	step->what = s->what;
	return 0;
}

static void give(struct inv_scan *s, const struct inv_scan_bytes *b,
		 const struct inv_log_packet *h, uint64_t len, bool damaged,
		 struct inv_scan_step *step)
{
	uint64_t body = s->off + h->head_len;

	step->is_gap = false;
	step->at.head = *h;
	step->at.file = NULL;
	step->at.off = s->off;
	/* An empty body is never damaged, even if its checksum is wrong. */
	step->at.damaged = len && damaged && h->body_len;
	step->at.body = NULL;
	if (len && !step->at.damaged)
		step->at.body = b->data + (body - b->off);
	if (!damaged) {
		s->off += len;
		return;
	}
	s->off = body < end_of(b) ? body : end_of(b);
	inv_scan_lose(s, s->off, NULL);
}

/*
 * Takes an EVENTS packet. If no other packet follows the packet's end, and the
 * checksum is wrong, the packet has lost or gained bytes or was truncated. Then
 * the next packet may start before the end of this one, so the search continues
 * in the body. The reader of the body reports the damage.
 */
static int take_events(struct inv_scan *s, const struct inv_scan_bytes *b,
		       const struct inv_log_packet *h, uint64_t len,
		       struct inv_scan_step *step)
{
	uint64_t next = s->off + len;
	uint64_t in_vain = s->in_vain;
	struct inv_log_packet other;
	bool sound = len &&
		     ((b->last && next == end_of(b)) ||
		      inv_scan_head_at(b, next, &other) || body_sound(s, b, h));

	if (!sound && !b->last && end_of(b) - next < sizeof(other)) {
		s->in_vain = in_vain; /* the same bytes will be hashed again */
		return INV_END;
	}
	give(s, b, h, len, !sound, step);
	return 0;
}

/* Takes the packet at s->off, or starts a gap there. */
static int take(struct inv_scan *s, const struct inv_scan_bytes *b,
		const struct inv_log_packet *h, struct inv_scan_step *step)
{
	uint64_t len = inv_scan_packet_len(b, s->off, h);

	if (!len && !b->last)
		return INV_END;
	if (inv_log_is_events(h->type))
		return take_events(s, b, h, len, step);
	if (body_sound(s, b, h)) {
		give(s, b, h, len, false, step);
		return 0;
	}
	inv_scan_lose(s, s->off + 1,
		      len ? "a packet's body is damaged" :
			    "the file ends within a packet");
	return find_end_of_gap(s, b, step);
}

int inv_scan_next(struct inv_scan *s, const struct inv_scan_bytes *b,
		  struct inv_scan_step *step)
{
	struct inv_log_packet h;

	if (s->lost)
		return find_end_of_gap(s, b, step);
	if (s->off == end_of(b))
		return INV_END;
	if (inv_scan_head_at(b, s->off, &h))
		return take(s, b, &h, step);
	if (end_of(b) - s->off < sizeof(h) && !b->last)
		return INV_END;
	inv_scan_lose(s, s->off, "no packet");
	return find_end_of_gap(s, b, step);
}
