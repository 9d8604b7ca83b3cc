/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_LOG_H
#define INV_ABI_LOG_H

#include <stdint.h>

#include "abi/event.h"

/*
 * A log file: a head, then packets.  Each packet can be read alone.
 *
 *      +------+--------+--------+-   -+--------+
 *      | head | packet | packet | ... | packet |
 *      +------+--------+--------+-   -+--------+
 *
 * All integers are little-endian.  There is no padding between the parts.
 * Checksums are XXH64 with seed 0.  Normative text: inviso-log(5).
 *
 * A log is one file, or several if it is rotated.  All its files have the same
 * uuid.  file_no in the head gives their order; file names have no meaning.
 */
#define INV_LOG_MAGIC "\x89INVLOG\n"
#define INV_LOG_VERSION 3u

/*
 * Version 1 has another format of records, in packets of the type
 * INV_LOG_EVENTS_1. Version 3 differs from version 2 in one point: an EVENTS
 * packet with exactly one event may have more than INV_PACKET_RAW_MAX bytes. If
 * a tracer cannot produce such packets, its log has version 2.
 */
#define INV_LOG_VERSION_SMALL 2u

/* The most bytes of an EVENTS packet with several events, decompressed. A
 * packet of a ring has at most half as many bytes. The other half is a reserve,
 * because a packet may define a term several times. */
#define INV_PACKET_RAW_MAX (1024u * 1024)
/* INV_EVENT_MAX: the most bytes of one event with its definitions. This is the
 * sum of 16 MiB for binaries, 1 MiB for the other bytes of the term and its
 * definitions (INV_TERM_MAX), and 252 KiB for the rest of the event. */
#define INV_EVENT_DEFS_MAX (4u * 1024 * 1024)
#define INV_EVENT_MAX (17u * 1024 * 1024 + 252u * 1024)

/*
 * After this struct come strings, each a u16 length and bytes, in this order:
 * node name, OTP release, erts version, operating system process id. At
 * head_len - 8 is a u64 checksum of all bytes before it. Between the four
 * strings and the checksum, there may be further strings, which a reader skips.
 */
struct inv_log_head {
	uint8_t magic[8];
	uint32_t version;
	uint32_t head_len; /* bytes from the file's start to the first packet */
	uint8_t uuid[16];  /* of the tracer; the same in all files of a log */
	uint32_t file_no;  /* from 0 */
	uint32_t n_streams;
	uint32_t creation;   /* the node's creation */
	uint32_t keep;	     /* enum inv_keep */
	uint64_t created_ns; /* wall clock, since the Unix epoch */
};
_Static_assert(sizeof(struct inv_log_head) == 56, "on disk");

#define INV_LOG_SYNC 0x6b705649u /* the bytes "IVpk" in the file */

enum inv_log_type {
	INV_LOG_EVENTS_1 = 1, /* EVENTS in a log of version 1 */
	INV_LOG_ANCHORS = 2,  /* struct inv_anchor, one or more */
	INV_LOG_TOTALS = 3,   /* struct inv_log_totals, one for each stream.
			       * This is the last packet of a file, and the last
			       * packet that a spooler or a flush writes */
	INV_LOG_EVENTS = 4,   /* definitions and then events of one stream */
};

static inline int inv_log_is_events(unsigned type)
{
	return type == INV_LOG_EVENTS || type == INV_LOG_EVENTS_1;
}

enum inv_log_codec {
	INV_CODEC_NONE = 0,
	INV_CODEC_ZSTD = 1,
};

/*
 * Reasons for which a TOTALS packet is written. The packet's field seq contains
 * this number.
 */
enum inv_log_end {
	INV_END_CLOSED = 1,	/* the tracer was closed; nothing follows */
	INV_END_OWNER = 2,	/* the tracer's owner died; nothing follows */
	INV_END_VM = 3,		/* the node died; nothing follows */
	INV_END_ROTATED = 4,	/* continued in the next file */
	INV_END_TERMINATED = 5, /* the spooler got SIGTERM */
	INV_END_RECOVERED = 6,	/* `inviso recover' made the log's end from a
				 * ring file */
	INV_END_FLUSHED = 7,	/* flight recorder: a flush is complete */
};

/*
 * The head of a packet. The body follows immediately. The body has body_len
 * bytes in the file, and raw_len bytes after decompression by the codec.
 *
 * An EVENTS body is the packet's definitions (def_len bytes, abi/term.h) and
 * then events (abi/event.h). If the spooler writes one ring packet in several
 * parts, each part is a log packet. These packets have the same stream and seq,
 * but each has its own ev_off, and all the definitions that it needs.
 *
 * dropped[] counts lost events since the stream's beginning, by reason. If a
 * count is higher than in the stream's previous packet, the difference is the
 * number of events that were lost within or after the previous packet.
 */
struct inv_log_packet {
	uint32_t sync;
	uint8_t type;	   /* enum inv_log_type */
	uint8_t codec;	   /* enum inv_log_codec */
	uint16_t head_len; /* length of the head; if it is longer than this
			      struct, a reader skips the rest */
	uint32_t body_len;
	uint32_t raw_len;
	uint32_t stream;      /* EVENTS: 0 .. n_streams - 1 */
	uint32_t n_events;    /* EVENTS: number of events; other types: number
				 of entries */
	uint64_t seq;	      /* EVENTS: the ring packet's number, from 1 */
	uint64_t first_event; /* EVENTS: number of the packet's first event in
				 the stream, from 0. A gap in the numbers
				 between two packets means that events were
				 lost */
	uint64_t begin_ns;    /* EVENTS: monotonic clock; the first event's
				 delta counts from here */
	uint64_t end_ns;      /* EVENTS: monotonic clock, at or after the last
				 event */
	uint32_t ev_off; /* EVENTS: how many bytes of this ring packet's events
			    are in earlier log packets */
	uint32_t def_len;
	uint64_t dropped[INV_LOSS_COUNT];
	uint64_t body_sum; /* checksum of the body as it is in the file */
	uint64_t head_sum; /* checksum of the head up to this field */
};
_Static_assert(sizeof(struct inv_log_packet) == 144, "on disk");
_Static_assert(INV_LOSS_COUNT == 8, "on disk");

/*
 * A reading of several clocks at one moment, in nanoseconds.
 *   mono   CLOCK_MONOTONIC, the clock of the events (as in begin_ns)
 *   erl    erlang:monotonic_time/1
 *   offset erlang:time_offset/1; erl + offset is Erlang system time
 *   real   CLOCK_REALTIME, since the Unix epoch
 *   raw    CLOCK_MONOTONIC_RAW, whose speed NTP does not adjust
 */
struct inv_anchor {
	uint64_t mono;
	int64_t erl;
	int64_t offset;
	int64_t real;
	uint64_t raw; /* not in version 1 */
};
_Static_assert(sizeof(struct inv_anchor) == 40, "on disk");
#define INV_ANCHOR_1_SIZE 32u /* in version 1 */

struct inv_log_totals {
	uint32_t stream; /* UINT32_MAX: losses that belong to no stream */
	uint32_t reserved;
	uint64_t produced; /* events that the VM produced */
	uint64_t recorded; /* events in the log */
	uint64_t dropped[INV_LOSS_COUNT];
};
_Static_assert(sizeof(struct inv_log_totals) == 88, "on disk");

#endif
