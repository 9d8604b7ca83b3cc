/* SPDX-License-Identifier: Apache-2.0 */
#include "log/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "abi/ring.h"
#include "log/packet.h"
#include "log/utf8.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "the structs of abi/log.h are copied as they lie in the file");

/* Where a file with a ruined head may start with its packets, at the latest. */
#define HEAD_MAX (64u * 1024)

/*
 * Whether a packet head that makes sense lies at off.  That its body lies
 * within the file is not asked.
 */
static bool head_at(const struct inv_source *src, uint64_t off,
		    struct inv_log_packet *h)
{
	if (sizeof(*h) > src->size || off > src->size - sizeof(*h))
		return false;
	memcpy(h, src->data + off, sizeof(*h));
	if (h->sync != INV_LOG_SYNC || h->head_len < sizeof(*h) ||
	    h->body_len > INV_PACKET_BODY_MAX ||
	    h->raw_len > INV_PACKET_RAW_MAX ||
	    h->head_sum != XXH64(src->data + off,
				 offsetof(struct inv_log_packet, head_sum), 0))
		return false;
	if (h->type != INV_LOG_EVENTS)
		return true;
	return h->stream < INV_RINGS_MAX && h->def_len <= h->raw_len &&
	       h->n_events <= h->raw_len;
}

/* Bytes that the packet at off takes; 0: more than there are. */
static uint64_t packet_len(const struct inv_source *src, uint64_t off,
			   const struct inv_log_packet *h)
{
	uint64_t left = src->size - off;

	if (h->head_len > left || h->body_len > left - h->head_len)
		return 0;
	return (uint64_t)h->head_len + h->body_len;
}

/* The first sound head at or after off; the file's size if there is none. */
static uint64_t resync(const struct inv_source *src, uint64_t off)
{
	static const uint32_t sync = INV_LOG_SYNC;
	struct inv_log_packet h;

	while (off < src->size) {
		const uint8_t *p = memmem(src->data + off, src->size - off,
					  &sync, sizeof(sync));

		if (!p)
			break;
		off = (uint64_t)(p - src->data);
		if (head_at(src, off, &h))
			return off;
		off++;
	}
	return src->size;
}

bool inv_log_is(const struct inv_source *src)
{
	struct inv_source start = *src;

	if (src->size >= 8 && !memcmp(src->data, INV_LOG_MAGIC, 8))
		return true;
	if (start.size > HEAD_MAX)
		start.size = HEAD_MAX;
	return resync(&start, 0) < start.size;
}

/* --- the file's head ------------------------------------------------------ */

/* Takes the next string of the head at *off, as valid UTF-8. */
static char *head_string(const struct inv_source *src, uint64_t end,
			 uint64_t *off)
{
	const uint8_t *p = src->data + *off;
	uint64_t n;

	if (end < 2 || *off > end - 2)
		return strdup("");
	n = p[0] | p[1] << 8;
	if (n > end - 2 - *off)
		n = end - 2 - *off;
	*off += 2 + n;
	return inv_utf8_sanitized((const char *)p + 2, n);
}

static bool head_sum_sound(const struct inv_source *src, uint32_t head_len)
{
	uint64_t sum;

	if (head_len < sizeof(struct inv_log_head) + 8 || head_len > src->size)
		return false;
	memcpy(&sum, src->data + head_len - 8, sizeof(sum));
	return sum == XXH64(src->data, head_len - 8, 0);
}

/* Reads what can be read of the head; *start is where the packets begin. */
static int read_head(struct inv_log_file *f, struct inv_notices *ns,
		     uint64_t *start, struct inv_err *err)
{
	const struct inv_source *src = &f->src;
	uint64_t off = sizeof(f->head);
	uint64_t end;

	if (src->size < sizeof(f->head) + 8)
		return inv_err_set(err, INV_EFORMAT, "%s: too short for a log",
				   src->name);
	memcpy(&f->head, src->data, sizeof(f->head));
	*start = f->head.head_len;
	if (!head_sum_sound(src, f->head.head_len)) {
		*start = resync(src, 0);
		end = *start < HEAD_MAX ? *start : HEAD_MAX;
		inv_notice_damage(ns, src->name, 0, end,
				  "the file's head is damaged: its node and "
				  "number may be wrong");
	} else if (f->head.version > INV_LOG_VERSION) {
		return inv_err_set(err, INV_EVERSION,
				   "%s: a log of version %u; this program reads"
				   " up to %u",
				   src->name, f->head.version, INV_LOG_VERSION);
	} else {
		end = f->head.head_len - 8;
	}
	f->node = head_string(src, end, &off);
	f->otp_release = head_string(src, end, &off);
	f->erts_version = head_string(src, end, &off);
	f->os_pid = head_string(src, end, &off);
	if (!f->node || !f->otp_release || !f->erts_version || !f->os_pid)
		return inv_err_set(err, INV_ENOMEM, "%s: no memory", src->name);
	return 0;
}

/* --- the survey ----------------------------------------------------------- */

/*
 * Bodies that turn out damaged may overlap, for the next packet is looked for
 * within them.  A file made for it has a head every few bytes, each with a body
 * as long as can be: so what may be hashed in vain is limited, to so many times
 * the file.  What is damaged by accident stays far below.
 */
#define HASH_IN_VAIN 4u

struct survey {
	struct inv_log_file *f;
	struct inv_notices *ns;
	struct inv_unpacker *u;
	uint64_t off;
	uint64_t in_vain; /* bytes that may still be */
};

/* The body of the packet at s->off. */
static bool body_sound(struct survey *s, const struct inv_log_packet *h)
{
	const struct inv_source *src = &s->f->src;

	if (!packet_len(src, s->off, h) || h->body_len > s->in_vain)
		return false;
	if (XXH64(src->data + s->off + h->head_len, h->body_len, 0) ==
	    h->body_sum)
		return true;
	s->in_vain -= h->body_len;
	return false;
}

static int add_gap(struct inv_log_file *f, uint64_t off, uint64_t end)
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
	g->len = end - off;
	return 0;
}

/* A stream may have lost all it had: then only its totals tell of it. */
static void count_totals(struct survey *s, const struct inv_log_place *at)
{
	struct inv_log_file *f = s->f;
	struct inv_entries e;
	struct inv_log_totals t;

	inv_entries_open(&e, s->u, at);
	for (uint32_t i = 0; inv_entries_totals(&e, i, &t); i++)
		if (t.stream < INV_RINGS_MAX && t.stream >= f->n_streams)
			f->n_streams = t.stream + 1;
	f->last_end = (uint32_t)at->head.seq;
}

static void count(struct survey *s, const struct inv_log_packet *h)
{
	struct inv_log_file *f = s->f;
	struct inv_log_place at = { .head = *h,
				    .off = s->off,
				    .body = f->src.data + s->off +
					    h->head_len };

	f->n_packets++;
	f->last_type = h->type;
	f->last_end = 0;
	if (h->type == INV_LOG_TOTALS)
		count_totals(s, &at);
	if (h->type != INV_LOG_EVENTS)
		return;
	f->n_events += h->n_events;
	if (h->stream >= f->n_streams)
		f->n_streams = h->stream + 1;
	if (h->begin_ns < f->first_ns)
		f->first_ns = h->begin_ns;
}

/* Goes on at the first packet at or after from.  The bytes between begin and
 * that packet are not to be looked at again. */
static int skip(struct survey *s, uint64_t begin, uint64_t from,
		const char *what)
{
	const struct inv_source *src = &s->f->src;
	uint64_t next = resync(src, from);

	if (what)
		inv_notice_damage(s->ns, src->name, begin, next - begin, "%s",
				  what);
	s->off = next;
	return add_gap(s->f, begin, next);
}

/*
 * A packet whose end is not where another one starts lost or gained bytes, or
 * was cut: the next one may start before.  Whoever reads the body of an EVENTS
 * packet reports it; the others are left out here.
 */
static int survey_packet(struct survey *s, const struct inv_log_packet *h)
{
	const struct inv_source *src = &s->f->src;
	uint64_t len = packet_len(src, s->off, h);
	struct inv_log_packet next;
	uint64_t body = s->off + h->head_len;

	if (h->type != INV_LOG_EVENTS && !body_sound(s, h))
		return skip(s, s->off, s->off + 1,
			    len ? "a packet's body is damaged" :
				  "the file ends within a packet");
	count(s, h);
	if (len && (s->off + len == src->size ||
		    head_at(src, s->off + len, &next) || body_sound(s, h))) {
		s->off += len;
		return 0;
	}
	if (body > src->size)
		body = src->size;
	return skip(s, body, body, NULL);
}

static int survey(struct inv_log_file *f, struct inv_notices *ns, uint64_t off)
{
	struct survey s = { .f = f,
			    .ns = ns,
			    .u = inv_unpacker_new(),
			    .off = off,
			    .in_vain = HASH_IN_VAIN * f->src.size };
	struct inv_log_packet h;
	int rc = s.u ? 0 : INV_ENOMEM;

	f->first_ns = UINT64_MAX;
	if (!rc && off) /* the head, as a gap that every cursor starts behind */
		rc = add_gap(f, 0, off);
	while (!rc && s.off < f->src.size) {
		if (head_at(&f->src, s.off, &h))
			rc = survey_packet(&s, &h);
		else
			rc = skip(&s, s.off, s.off, "no packet");
	}
	inv_unpacker_free(s.u);
	return rc;
}

int inv_log_file_open(struct inv_log_file *f, struct inv_source *src,
		      struct inv_notices *ns, struct inv_err *err)
{
	uint64_t start = 0;
	int rc;

	memset(f, 0, sizeof(*f));
	f->src = *src;
	memset(src, 0, sizeof(*src));
	if (!inv_log_is(&f->src))
		rc = inv_err_set(err, INV_EFORMAT, "%s: not a log",
				 f->src.name);
	else
		rc = read_head(f, ns, &start, err);
	if (!rc && survey(f, ns, start))
		rc = inv_err_set(err, INV_ENOMEM, "%s: no memory", f->src.name);
	if (rc)
		inv_log_file_close(f);
	return rc;
}

void inv_log_file_close(struct inv_log_file *f)
{
	free(f->node);
	free(f->otp_release);
	free(f->erts_version);
	free(f->os_pid);
	free(f->gaps);
	inv_source_close(&f->src);
	memset(f, 0, sizeof(*f));
}

/* --- cursors -------------------------------------------------------------- */

void inv_log_cursor_init(struct inv_log_cursor *c, const struct inv_log_file *f)
{
	(void)f;
	c->off = 0;
	c->gap = 0;
}

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
	uint64_t len = packet_len(&f->src, c->off, h);

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
	bool whole;

	if (!head_at(&f->src, c->off, &at->head))
		return changed(c, f);
	at->off = c->off;
	whole = packet_len(&f->src, c->off, &at->head);
	at->damaged = whole && known_damaged(c, f, &at->head);
	at->body = NULL;
	if (whole && !at->damaged)
		at->body = f->src.data + c->off + at->head.head_len;
	advance(c, f, &at->head);
	return true;
}

int inv_log_cursor_next(struct inv_log_cursor *c, const struct inv_log_file *f,
			struct inv_log_place *at)
{
	if (!known_head(c, f, &at->head))
		return INV_END;
	return take(c, f, at) ? 0 : INV_END;
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
