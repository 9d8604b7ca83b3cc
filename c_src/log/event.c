/* SPDX-License-Identifier: Apache-2.0 */
#include "log/event.h"

#include <string.h>

#include "base/varint.h"

static const struct {
	const char *text;
	size_t len;
} tags[] = {
#define TAG_TEXT(name, number, text) [number] = { text, sizeof(text) - 1 },
	INV_TAGS(TAG_TEXT)
#undef TAG_TEXT
};

const char *inv_tag_text(unsigned tag, size_t *len)
{
	if (tag >= sizeof(tags) / sizeof(tags[0]) || !tags[tag].text)
		return NULL;
	*len = tags[tag].len;
	return tags[tag].text;
}

unsigned inv_tag_number(const char *text, size_t len)
{
	for (unsigned i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (tags[i].len == len && tags[i].text &&
		    !memcmp(tags[i].text, text, len))
			return i;
	return 0;
}

static const char *const system_tags[] = {
#define SYSTEM_TEXT(name, text) text,
	INV_SYSTEM_TAGS(SYSTEM_TEXT)
#undef SYSTEM_TEXT
};

const char *inv_system_text(unsigned tag, size_t *len)
{
	if (tag >= INV_SYSTEM_COUNT)
		return NULL;
	*len = strlen(system_tags[tag]);
	return system_tags[tag];
}

unsigned inv_system_number(const char *text, size_t len)
{
	unsigned i = 0;

	while (i < INV_SYSTEM_COUNT && (strlen(system_tags[i]) != len ||
					memcmp(system_tags[i], text, len) != 0))
		i++;
	return i;
}

unsigned inv_event_system(const struct inv_event *ev)
{
	size_t len;
	const char *text;

	if (ev->tag != INV_TAG_OTHER)
		return INV_SYSTEM_COUNT;
	text = inv_event_tag(ev, &len);
	return text ? inv_system_number(text, len) : INV_SYSTEM_COUNT;
}

const char *inv_event_tag(const struct inv_event *ev, size_t *len)
{
	const char *text = inv_tag_text(ev->tag, len);

	if (text)
		return text;
	*len = ev->other_len;
	return ev->other ? ev->other : "";
}

/* --- decoding a record ---------------------------------------------------- */

static const uint8_t *options(struct inv_event *ev, unsigned flags,
			      const uint8_t *p, const uint8_t *end)
{
	uint64_t unique;

	if (flags & INV_EV_SCHED) {
		p = inv_varint_get(p, end, &ev->sched);
		if (!p)
			return NULL;
		ev->has_sched = true;
	}
	switch (ev->ts_kind) {
	case INV_TS_CPU:
		return inv_varint_get(p, end, &ev->cpu_ns);
	case INV_TS_STRICT:
		p = inv_varint_get(p, end, &unique);
		if (p)
			ev->unique = inv_unzigzag(unique);
		return p;
	default:
		return p;
	}
}

/* Sets the tag's name of an event with INV_TAG_OTHER. The event's first term is
 * the name, an atom of the dictionary. Returns INV_EDAMAGED if the term is
 * invalid. */
static int other_tag(struct inv_event *ev)
{
	const struct inv_dict_entry *e;
	const uint8_t *p = ev->terms;
	const uint8_t *end = p + ev->len;
	uint64_t n;

	if (p == end)
		return INV_EDAMAGED;
	if (*p >= INV_T_DICT_SMALL && *p < INV_T_TUPLE_SMALL)
		n = *p - INV_T_DICT_SMALL;
	else if (*p != INV_T_DICT || !inv_varint_get(p + 1, end, &n))
		return INV_EDAMAGED;
	e = ev->dict ? inv_dict_get(ev->dict, n) : NULL;
	if (!e || e->kind != INV_DEF_ATOM)
		return INV_EDAMAGED;
	ev->other = (const char *)e->bytes;
	ev->other_len = e->len;
	return 0;
}

/* Reads tag, flags and time of a record. Returns NULL if they are invalid. */
static const uint8_t *head(struct inv_event *ev, const uint8_t *p,
			   const uint8_t *end, struct inv_event_times *t,
			   unsigned *flags)
{
	uint64_t delta;
	unsigned h;

	if (end - p < 2)
		return NULL;
	h = *p++;
	*flags = h & INV_HEAD_FLAGS ? *p++ : 0;
	ev->tag = h & INV_HEAD_TAG;
	ev->ends = ev->tag == INV_TAG_CALL && h & INV_HEAD_ENDS;
	/* The flag INV_EV_EXTRA is in the record's head. So in the byte of
	 * flags its bit is free, and means INV_EV_WHOLE. */
	ev->whole = *flags & INV_EV_WHOLE;
	*flags &= ~(unsigned)INV_EV_WHOLE;
	if (h & INV_HEAD_EXTRA && !ev->ends)
		*flags |= INV_EV_EXTRA;
	/* In the same way, the bit of INV_EV_CUT means INV_EV_REDACTED. */
	ev->redacted = *flags & INV_EV_REDACTED;
	*flags &= ~(unsigned)INV_EV_REDACTED;
	if (h & INV_HEAD_CUT)
		*flags |= INV_EV_CUT;
	if (ev->tag == INV_HEAD_OTHER)
		ev->tag = INV_TAG_OTHER;
	p = inv_varint_get(p, end, &delta);
	if (p)
		t->last_ns += delta;
	return p;
}

/* Like head, for a log of version 1. */
static const uint8_t *head_1(struct inv_event *ev, const uint8_t *p,
			     const uint8_t *end, struct inv_event_times *t,
			     unsigned *flags)
{
	uint64_t off;

	if (end - p < 3)
		return NULL;
	ev->tag = *p++;
	*flags = *p++;
	p = inv_varint_get(p, end, &off);
	if (p)
		t->last_ns = t->begin_ns + off;
	return p;
}

static int note(struct inv_event *ev, const uint8_t *p, const uint8_t *end)
{
	uint64_t kind;

	p = inv_varint_get(p, end, &kind);
	if (!p)
		return INV_EDAMAGED;
	/* A kind that does not fit into ev->note becomes UINT32_MAX, and so
	 * does 0, because a note's kind must not be 0. Readers skip such notes,
	 * as they skip all kinds that they do not know. */
	ev->note = kind && kind < UINT32_MAX ? (uint32_t)kind : UINT32_MAX;
	ev->tag = 0;
	ev->terms = p;
	ev->len = (size_t)(end - p);
	return 0;
}

static int record(struct inv_event *ev, const uint8_t *p, const uint8_t *end,
		  struct inv_event_times *t)
{
	unsigned flags;

	p = t->version_1 ? head_1(ev, p, end, t, &flags) :
			   head(ev, p, end, t, &flags);
	if (!p)
		return INV_EDAMAGED;
	if (ev->tag == INV_HEAD_NOTE && !t->version_1)
		return note(ev, p, end);
	ev->ts_kind = (uint8_t)((flags & INV_EV_TS_MASK) >> INV_EV_TS_SHIFT);
	ev->extra = flags & INV_EV_EXTRA;
	ev->ms_result = flags & INV_EV_MS_RESULT;
	ev->cut = flags & INV_EV_CUT;
	ev->light = flags & INV_EV_LIGHT;
	p = options(ev, flags, p, end);
	if (!p)
		return INV_EDAMAGED;
	ev->terms = p;
	ev->len = (size_t)(end - p);
	if (ev->tag == INV_TAG_OTHER)
		return other_tag(ev);
	return ev->tag && ev->tag < INV_TAG_COUNT ? 0 : INV_EDAMAGED;
}

int inv_event_decode(struct inv_event *ev, const uint8_t **p,
		     const uint8_t *end, const struct inv_dict *dict,
		     struct inv_event_times *t)
{
	const uint8_t *q;
	uint64_t len = 0;

	memset(ev, 0, sizeof(*ev));
	ev->enc = INV_ENC_PACKED;
	ev->dict = dict;
	q = inv_varint_get(*p, end, &len);
	if (!q || len > (uint64_t)(end - q)) {
		*p = NULL;
		return INV_EDAMAGED;
	}
	*p = q + len;
	return record(ev, q, q + len, t);
}

/* --- the terms of an event ------------------------------------------------ */

static int must(int rc)
{
	return rc == INV_END ? INV_ETRUNCATED : rc;
}

int inv_event_tracee(const struct inv_event *ev, struct inv_cursor *c,
		     struct inv_token *tok)
{
	int rc = 0;

	inv_cursor_init(c, (enum inv_enc)ev->enc, ev->dict, ev->terms, ev->len);
	if (ev->enc == INV_ENC_PACKED && ev->tag == INV_TAG_OTHER)
		rc = must(inv_cursor_skip(c));
	return rc ? rc : must(inv_cursor_next(c, tok));
}

int inv_event_payload(const struct inv_event *ev, struct inv_cursor *c)
{
	int rc = inv_cursor_leave(c, 0);

	if (!rc && ev->enc == INV_ENC_ETF && ev->tag != INV_TAG_SEQ_TRACE)
		rc = must(inv_cursor_skip(c));
	return rc;
}
