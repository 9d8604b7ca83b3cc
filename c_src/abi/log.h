/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_LOG_H
#define INV_ABI_LOG_H

#include <stdint.h>

#include "abi/event.h"

/*
 * A log file: a head, then packets, each readable alone.
 *
 *      +------+--------+--------+-   -+--------+
 *      | head | packet | packet | ... | packet |
 *      +------+--------+--------+-   -+--------+
 *
 * All integers are little-endian; nothing is aligned for a reader to rely on
 * beyond what the layouts below give.  Checksums are XXH64 with seed 0.
 * Normative text: inviso-log(5).
 *
 * A log is a set of files (rotation), all with the same uuid and numbered by
 * file_no in their heads: names do not matter.
 */
#define INV_LOG_MAGIC "\x89INVLOG\n"
#define INV_LOG_VERSION 1u

/*
 * Followed by the strings, each u16 length and bytes, in the order: node name,
 * OTP release, erts version, operating system process id; then, at head_len -
 * 8, a u64 checksum of everything before it.  A reader accepts further strings
 * before the checksum and steps over them.
 */
struct inv_log_head {
	uint8_t magic[8];
	uint32_t version;
	uint32_t head_len; /* bytes from the file's start to the first packet */
	uint8_t uuid[16];  /* of the tracer: the same in all files of a log */
	uint32_t file_no;  /* from 0 */
	uint32_t n_streams;
	uint32_t creation;   /* of the node */
	uint32_t keep;	     /* enum inv_keep */
	uint64_t created_ns; /* wall clock, since the Unix epoch */
};
_Static_assert(sizeof(struct inv_log_head) == 56, "on disk");

#define INV_LOG_SYNC 0x6b705649u /* "IVpk" in the file */

enum inv_log_type {
	INV_LOG_EVENTS = 1,  /* definitions, then events, of one stream */
	INV_LOG_ANCHORS = 2, /* struct inv_anchor, one or more */
	INV_LOG_TOTALS = 3,  /* struct inv_log_totals, one a stream: the end of
				a file, or of what one spooler wrote */
};

enum inv_log_codec {
	INV_CODEC_NONE = 0,
	INV_CODEC_ZSTD = 1,
};

/* Why a TOTALS packet was written: in its seq. */
enum inv_log_end {
	INV_END_CLOSED = 1,	/* the tracer was closed; nothing follows */
	INV_END_OWNER = 2,	/* its owner died; nothing follows */
	INV_END_VM = 3,		/* the node died; nothing follows */
	INV_END_ROTATED = 4,	/* goes on in the next file */
	INV_END_TERMINATED = 5, /* the spooler was told to leave */
	INV_END_RECOVERED = 6,	/* written from a ring file afterwards */
	INV_END_FLUSHED = 7,	/* flight recorder: what it held at a flush */
};

/*
 * A packet's head.  The body follows at once: body_len bytes which, unpacked
 * by the codec, are raw_len bytes.
 *
 * An EVENTS body is the packet's definitions (def_len bytes, abi/term.h) and
 * then events (abi/event.h).  When the spooler took a ring packet in several
 * goes there are several log packets with the same stream and seq; ev_off
 * tells them apart, and each carries all the definitions that it needs.
 *
 * dropped[] counts since the stream's beginning: what grew since the packet
 * before was lost between the two, or within the former.
 */
struct inv_log_packet {
	uint32_t sync;
	uint8_t type;	   /* enum inv_log_type */
	uint8_t codec;	   /* enum inv_log_codec */
	uint16_t head_len; /* of this struct; a reader steps over more */
	uint32_t body_len;
	uint32_t raw_len;
	uint32_t stream;      /* EVENTS: 0 .. n_streams - 1 */
	uint32_t n_events;    /* EVENTS: events; else entries */
	uint64_t seq;	      /* EVENTS: the ring packet's number, from 1 */
	uint64_t first_event; /* EVENTS: number of the first event in its
				 stream, from 0; a gap is a loss */
	uint64_t begin_ns;    /* EVENTS: monotonic; ts_off counts from here */
	uint64_t end_ns;      /* EVENTS: monotonic, not before the last event */
	uint32_t ev_off; /* EVENTS: bytes of events of this ring packet that
			    log packets before this one hold */
	uint32_t def_len;
	uint64_t dropped[INV_LOSS_COUNT];
	uint64_t body_sum; /* of the body as stored */
	uint64_t head_sum; /* of the head before this field */
};
_Static_assert(sizeof(struct inv_log_packet) == 144, "on disk");
_Static_assert(INV_LOSS_COUNT == 8, "on disk");

/*
 * Ties the clock of the events to other clocks.  All in nanoseconds.
 *   mono   CLOCK_MONOTONIC, as in begin_ns
 *   erl    erlang:monotonic_time/1 at that instant
 *   offset erlang:time_offset/1; erl + offset is Erlang system time
 *   real   CLOCK_REALTIME, since the Unix epoch
 */
struct inv_anchor {
	uint64_t mono;
	int64_t erl;
	int64_t offset;
	int64_t real;
};
_Static_assert(sizeof(struct inv_anchor) == 32, "on disk");

struct inv_log_totals {
	uint32_t stream; /* UINT32_MAX: losses that belong to no stream */
	uint32_t reserved;
	uint64_t produced; /* events that the VM offered */
	uint64_t recorded; /* events in the log */
	uint64_t dropped[INV_LOSS_COUNT];
};
_Static_assert(sizeof(struct inv_log_totals) == 88, "on disk");

#endif
