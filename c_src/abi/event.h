/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_EVENT_H
#define INV_ABI_EVENT_H

/*
 * An event record, as it lies in a ring and, byte for byte, in a log.
 *
 *      +-----+-----+-------+--------+- - - - -+- - -+--------+---------+- - - -
 *      | len | tag | flags | ts_off | options | tag | tracee | payload | extra
 *      +-----+-----+-------+--------+- - - - -+- - -+--------+---------+- - - -
 *
 *      len      varint  bytes that follow it, so that a reader can step over
 *                       what it does not know
 *      tag      u8      enum inv_tag
 *      flags    u8      INV_EV_* below
 *      ts_off   varint  nanoseconds since the packet's begin_ns
 *      options          in this order, each only when its flag says so:
 *                         scheduler  varint   (INV_EV_SCHED)
 *                         cpu time   varint   ns (timestamp kind cpu)
 *                         unique     signed   (timestamp kind strict)
 *      tag              term, only with INV_TAG_OTHER: the tag's atom
 *      tracee           term: pid or port; the label for seq_trace
 *      payload          term: the trace tuple's element after the tag
 *      extra            term, with INV_EV_EXTRA: the fifth element
 *      ms_result        term, with INV_EV_MS_RESULT
 *
 * Varints are LEB128, little end first, at most ten bytes; "signed" ones are
 * zigzag coded.  Terms are packed terms (abi/term.h).  Events of one stream
 * are in the order of their time.  Normative text: inviso-log(5).
 */

/* Explicit numbers: they are on disk and are never renumbered. */
#define INV_TAGS(X)                                        \
	X(SEND, 1, "send")                                 \
	X(SEND_NO_PROC, 2, "send_to_non_existing_process") \
	X(RECEIVE, 3, "receive")                           \
	X(CALL, 4, "call")                                 \
	X(RETURN_TO, 5, "return_to")                       \
	X(RETURN_FROM, 6, "return_from")                   \
	X(EXCEPTION_FROM, 7, "exception_from")             \
	X(SPAWN, 8, "spawn")                               \
	X(SPAWNED, 9, "spawned")                           \
	X(EXIT, 10, "exit")                                \
	X(LINK, 11, "link")                                \
	X(UNLINK, 12, "unlink")                            \
	X(GETTING_LINKED, 13, "getting_linked")            \
	X(GETTING_UNLINKED, 14, "getting_unlinked")        \
	X(REGISTER, 15, "register")                        \
	X(UNREGISTER, 16, "unregister")                    \
	X(IN, 17, "in")                                    \
	X(OUT, 18, "out")                                  \
	X(IN_EXITING, 19, "in_exiting")                    \
	X(OUT_EXITING, 20, "out_exiting")                  \
	X(OUT_EXITED, 21, "out_exited")                    \
	X(GC_MINOR_START, 22, "gc_minor_start")            \
	X(GC_MINOR_END, 23, "gc_minor_end")                \
	X(GC_MAJOR_START, 24, "gc_major_start")            \
	X(GC_MAJOR_END, 25, "gc_major_end")                \
	X(GC_MAX_HEAP_SIZE, 26, "gc_max_heap_size")        \
	X(OPEN, 27, "open")                                \
	X(CLOSED, 28, "closed")                            \
	X(SEQ_TRACE, 29, "seq_trace")

enum inv_tag {
#define INV_TAG_ENUM(name, number, text) INV_TAG_##name = number,
	INV_TAGS(INV_TAG_ENUM)
#undef INV_TAG_ENUM
	INV_TAG_COUNT,
	/* A tag of a release newer than this table; its atom is recorded. */
	INV_TAG_OTHER = 255
};

enum inv_ev_flags {
	INV_EV_EXTRA = 1u << 0,
	INV_EV_MS_RESULT = 1u << 1,
	INV_EV_SCHED = 1u << 2,
	INV_EV_TS_SHIFT = 3, /* three bits: enum inv_ts_kind */
	INV_EV_TS_MASK = 7u << 3,
	INV_EV_CUT = 1u << 6,	/* some term was cut at a budget */
	INV_EV_LIGHT = 1u << 7, /* payload => none: see below */
};

/*
 * In the light mode the record keeps who, what and when: a HOLE for the
 * message of send, receive and seq_trace (extra is the recipient), {M,F,Arity}
 * for call and as the extra of spawn and spawned, return_from and exception_from
 * without the value.  All other tags
 * are as ever.
 */

/* Which kind of timestamp the user asked the VM for. */
enum inv_ts_kind {
	INV_TS_NONE = 0,
	INV_TS_TIMESTAMP = 1,
	INV_TS_CPU = 2,
	INV_TS_MONOTONIC = 3,
	INV_TS_STRICT = 4,
};

/*
 * Why an event that the VM offered is not in the log.  Every one is counted,
 * by reason: produced = recorded + the sum of these.
 */
#define INV_LOSSES(X)                                                         \
	X(FULL, 0, "full")		 /* the ring had no free packet */    \
	X(TOO_BIG, 1, "too_big")	 /* larger than a packet */           \
	X(LIMIT, 2, "limit")		 /* the tracer's own limit reached */ \
	X(OVERWRITTEN, 3, "overwritten") /* keep => newest: gave way */       \
	X(UNWRITTEN, 4, "unwritten")	 /* the log could not be written */   \
	X(UNFINISHED, 5, "unfinished")	 /* its thread died writing it */     \
	X(NO_RING, 6, "no_ring")	 /* a thread without a ring */        \
	X(DAMAGED, 7, "damaged")	 /* the ring's bytes made no sense */

enum inv_loss {
#define INV_LOSS_ENUM(name, number, text) INV_LOSS_##name = number,
	INV_LOSSES(INV_LOSS_ENUM)
#undef INV_LOSS_ENUM
	INV_LOSS_COUNT
};

#endif
