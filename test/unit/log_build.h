/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TEST_LOG_BUILD_H
#define INV_TEST_LOG_BUILD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "abi/log.h"
#include "abi/term.h"
#include "base/buf.h"
#include "base/varint.h"

/*
 * Makes valid log files in memory, for tests and for the corpora of the
 * fuzzers.
 *
 *	struct build b = { 0 };
 *	build_head(&b, "a@h", 1, 0);
 *	build_anchor(&b, 0, 0, 0);
 *	build_begin(&b, 0, 1000);
 *	build_event(&b, 1001, 7);
 *	build_end(&b);
 *	build_totals(&b, INV_END_CLOSED);
 *	... b.file ...
 *	build_release(&b);
 *
 * All events are calls of m:f(N), by the process <0.88.0>.
 */
#define BUILD_STREAMS 8

struct build {
	struct inv_buf file;
	int version_1;		      /* makes a log of version 1 */
	int zstd;		      /* compress the next packets */
	const char *otp;	      /* the head's release; NULL: "25" */
	uint64_t next[BUILD_STREAMS]; /* number of each stream's next event */
	uint64_t seq[BUILD_STREAMS];
	uint64_t recorded[BUILD_STREAMS];
	uint64_t dropped[BUILD_STREAMS][INV_LOSS_COUNT];
	/* the open packet */
	struct inv_log_packet p;
	uint64_t last_ns; /* time of the last event of the packet */
	struct inv_buf body;
};

static inline void build_release(struct build *b)
{
	inv_buf_release(&b->file);
	inv_buf_release(&b->body);
}

static inline void build_string(struct inv_buf *out, const char *s)
{
	uint16_t n = (uint16_t)strlen(s);

	inv_buf_put(out, &n, 2);
	inv_buf_put(out, s, n);
}

/* Begins file number file_no of the log. Empties the buffer first. */
static inline void build_head(struct build *b, const char *node, uint8_t uuid,
			      uint32_t file_no)
{
	struct inv_log_head h = { .version = b->version_1 ? 1 : INV_LOG_VERSION,
				  .file_no = file_no,
				  .created_ns = 1700000000000000000u };
	uint64_t sum;

	b->file.len = 0;
	memcpy(h.magic, INV_LOG_MAGIC, 8);
	memset(h.uuid, uuid, 16);
	inv_buf_put(&b->file, &h, sizeof(h));
	build_string(&b->file, node);
	build_string(&b->file, b->otp ? b->otp : "25");
	build_string(&b->file, "13.1.5");
	build_string(&b->file, "4711");
	h.head_len = (uint32_t)b->file.len + 8;
	memcpy(b->file.data, &h, sizeof(h));
	if (b->file.error || !b->file.data)
		abort();
	sum = XXH64(b->file.data, b->file.len, 0);
	inv_buf_put(&b->file, &sum, 8);
}

static inline void build_packet(struct build *b)
{
	static uint8_t packed[1 << 20];
	const uint8_t *body = b->body.data;

	if (!body)
		abort(); /* no memory, or the packet is empty */

	b->p.sync = INV_LOG_SYNC;
	b->p.head_len = sizeof(b->p);
	b->p.raw_len = (uint32_t)b->body.len;
	b->p.body_len = b->p.raw_len;
	if (b->zstd) {
		b->p.codec = INV_CODEC_ZSTD;
		b->p.body_len = (uint32_t)ZSTD_compress(
			packed, sizeof(packed), b->body.data, b->body.len, 1);
		body = packed;
	}
	b->p.body_sum = XXH64(body, b->p.body_len, 0);
	b->p.head_sum =
		XXH64(&b->p, offsetof(struct inv_log_packet, head_sum), 0);
	inv_buf_put(&b->file, &b->p, sizeof(b->p));
	inv_buf_put(&b->file, body, b->p.body_len);
	inv_buf_reset(&b->body);
	memset(&b->p, 0, sizeof(b->p));
}

/* Adds an anchor. At this anchor, Erlang's monotonic time is mono + erl_off,
 * and Erlang's system time is mono + erl_off + offset. */
static inline void build_anchor(struct build *b, uint64_t mono, int64_t erl_off,
				int64_t offset)
{
	uint64_t erl = mono + (uint64_t)erl_off;
	struct inv_anchor a = { mono, (int64_t)erl, offset,
				(int64_t)(erl + (uint64_t)offset), mono };

	b->p.type = INV_LOG_ANCHORS;
	b->p.n_events = 1;
	inv_buf_put(&b->body, &a, b->version_1 ? INV_ANCHOR_1_SIZE : sizeof(a));
	build_packet(b);
}

static inline void build_define(struct build *b, uint8_t kind, const void *p,
				size_t n)
{
	inv_buf_putc(&b->body, (char)kind);
	inv_buf_putc(&b->body, (char)n);
	inv_buf_put(&b->body, p, n);
}

/* Begins a packet of the stream. The packet's dropped[] has the number of
 * events that the stream has lost so far. */
static inline void build_begin(struct build *b, uint32_t stream,
			       uint64_t begin_ns)
{
	static const uint8_t pid[] = { 88, 0 };

	b->p.type = b->version_1 ? INV_LOG_EVENTS_1 : INV_LOG_EVENTS;
	b->p.stream = stream;
	b->p.seq = ++b->seq[stream];
	b->p.begin_ns = b->p.end_ns = b->last_ns = begin_ns;
	b->p.first_event = b->next[stream];
	memcpy(b->p.dropped, b->dropped[stream], sizeof(b->p.dropped));
	/* Definitions are in the order from the newest to the oldest. */
	build_define(b, INV_DEF_ATOM, "f", 1);		/* 2 */
	build_define(b, INV_DEF_ATOM, "m", 1);		/* 1 */
	build_define(b, INV_DEF_PID, pid, sizeof(pid)); /* 0 */
	b->p.def_len = (uint32_t)b->body.len;
}

/* Adds a record with this tag and these terms. */
static inline void build_record(struct build *b, uint64_t ns, uint8_t tag,
				uint8_t flags, const void *terms, size_t n)
{
	const unsigned in_head = INV_EV_EXTRA | INV_EV_CUT;
	uint8_t r[INV_VARINT_MAX + 2];
	uint8_t *w = r;
	uint8_t len[INV_VARINT_MAX];

	if (b->version_1) {
		*w++ = tag;
		*w++ = flags;
		w = inv_varint_put(w, ns - b->p.begin_ns);
	} else {
		*w++ = (uint8_t)((tag & INV_HEAD_TAG) |
				 (flags & INV_EV_EXTRA ? INV_HEAD_EXTRA : 0) |
				 (flags & INV_EV_CUT ? INV_HEAD_CUT : 0) |
				 (flags & ~in_head ? INV_HEAD_FLAGS : 0));
		if (flags & ~in_head)
			*w++ = (uint8_t)(flags & ~in_head);
		w = inv_varint_put(w, ns - b->last_ns);
		b->last_ns = ns;
	}
	inv_buf_put(&b->body, len,
		    (size_t)(inv_varint_put(len, (size_t)(w - r) + n) - len));
	inv_buf_put(&b->body, r, (size_t)(w - r));
	inv_buf_put(&b->body, terms, n);
	b->p.n_events++;
	b->p.end_ns = ns;
}

/* Adds the event {trace_ts,<0.88.0>,call,{m,f,[N]},_}, for N < 64. */
static inline void build_event(struct build *b, uint64_t ns, unsigned n)
{
	const uint8_t terms[] = { INV_T_DICT_SMALL + 0, /* <0.88.0> */
				  INV_T_TUPLE_SMALL + 3,
				  INV_T_DICT_SMALL + 1,
				  INV_T_DICT_SMALL + 2,
				  INV_T_STRING_SMALL,
				  (uint8_t)n };

	build_record(b, ns, INV_TAG_CALL, INV_TS_TIMESTAMP << INV_EV_TS_SHIFT,
		     terms, sizeof(terms));
}

/* Adds a note of this kind: <0.88.0> has the registered name m. A packet that
 * has only notes becomes a packet of notes. */
static inline void build_note(struct build *b, uint64_t ns, uint8_t kind)
{
	const uint8_t terms[] = { kind, INV_T_DICT_SMALL + 0,
				  INV_NAME_REGISTERED, INV_T_DICT_SMALL + 1 };

	build_record(b, ns, INV_HEAD_NOTE, 0, terms, sizeof(terms));
	b->p.n_events--;
}

static inline void build_end(struct build *b)
{
	uint32_t s = b->p.stream;

	b->next[s] += b->p.n_events;
	b->recorded[s] += b->p.n_events;
	build_packet(b);
}

/* Adds n lost events to the stream's counts. If events that are lost for this
 * reason already had numbers, skips n numbers. */
static inline void build_lose(struct build *b, uint32_t stream, unsigned reason,
			      uint64_t n)
{
	b->dropped[stream][reason] += n;
	if (reason == INV_LOSS_OVERWRITTEN || reason == INV_LOSS_UNWRITTEN ||
	    reason == INV_LOSS_DAMAGED)
		b->next[stream] += n;
}

static inline void build_totals(struct build *b, enum inv_log_end end)
{
	struct inv_log_totals t;

	for (uint32_t s = 0; s < BUILD_STREAMS; s++) {
		memset(&t, 0, sizeof(t));
		t.stream = s;
		t.recorded = t.produced = b->recorded[s];
		memcpy(t.dropped, b->dropped[s], sizeof(t.dropped));
		for (unsigned i = 0; i < INV_LOSS_COUNT; i++)
			t.produced += t.dropped[i];
		inv_buf_put(&b->body, &t, sizeof(t));
	}
	b->p.type = INV_LOG_TOTALS;
	b->p.n_events = BUILD_STREAMS;
	b->p.seq = end;
	build_packet(b);
}

#endif
