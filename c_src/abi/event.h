/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_EVENT_H
#define INV_ABI_EVENT_H

/*
 * An event record.  It has the same bytes in a ring and in a log.
 *
 *      +-----+------+-------+-------+- - - - -+- - -+--------+---------+- - - -
 *      | len | head | flags | delta | options | tag | tracee | payload | extra
 *      +-----+------+-------+-------+- - - - -+- - -+--------+---------+- - - -
 *
 *      len      varint  number of bytes after this field; a reader can skip a
 *                       record whose terms it does not understand
 *      head     u8      INV_HEAD_*: the tag, and the two most frequent flags
 *      flags    u8      all other INV_EV_*; only with INV_HEAD_FLAGS
 *      delta    varint  nanoseconds since the previous record of the packet;
 *                       for the first record, since begin_ns
 *      options          in this order, each only if the flags say so:
 *                         scheduler  varint   (INV_EV_SCHED)
 *                         cpu time   varint   ns (timestamp kind cpu)
 *                         unique     signed   (timestamp kind strict)
 *      tag              term, only with INV_TAG_OTHER: the tag's atom
 *      tracee           term: pid or port; the label for seq_trace
 *      payload          term: the trace tuple's element after the tag
 *      extra            term, with INV_EV_EXTRA: the element after the payload
 *      ms_result        term, with INV_EV_MS_RESULT: the match spec's result
 *      whole            terms, with INV_EV_WHOLE: the call that ends
 *
 * Varints are LEB128, least significant byte first, at most ten bytes; "signed"
 * ones are zigzag coded.  Terms are packed terms (abi/term.h).  Events of one
 * stream are in the order of their time.  Normative text: inviso-log(5).
 *
 * In logs of version 1 a record begins with len, tag (u8), flags (u8, all
 * INV_EV_*), and the nanoseconds since the packet's begin_ns (varint).
 */

/* The numbers are in log files: never change one. */
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
	/* A tag of a newer release, which INV_TAGS does not have. The record
	 * contains the tag's atom. */
	INV_TAG_OTHER = 255
};

/*
 * Events that the VM reports to the system monitor. A session of the command makes
 * events of INV_TAG_OTHER from them: the tracee is the process or port, the payload
 * is the last element of the report, {monitor, Tracee, Tag, Payload}.
 */
#define INV_SYSTEM_TAGS(X)                  \
	X(LONG_GC, "long_gc")               \
	X(LONG_SCHEDULE, "long_schedule")   \
	X(LARGE_HEAP, "large_heap")         \
	X(BUSY_PORT, "busy_port")           \
	X(BUSY_DIST_PORT, "busy_dist_port") \
	X(LONG_MESSAGE_QUEUE, "long_message_queue")

enum inv_system_tag {
#define INV_SYSTEM_ENUM(name, text) INV_SYSTEM_##name,
	INV_SYSTEM_TAGS(INV_SYSTEM_ENUM)
#undef INV_SYSTEM_ENUM
	INV_SYSTEM_COUNT
};

/* The bits of a record's head. */
#define INV_HEAD_TAG 0x1fu   /* the tag's number, INV_HEAD_NOTE or _OTHER */
#define INV_HEAD_NOTE 0x1eu  /* the record is a note */
#define INV_HEAD_OTHER 0x1fu /* INV_TAG_OTHER */
#define INV_HEAD_EXTRA 0x20u /* INV_EV_EXTRA; a call has no extra */
#define INV_HEAD_ENDS 0x20u /* a call: the VM reports its end (INV_NOTE_ENDS) */
#define INV_HEAD_CUT 0x40u  /* INV_EV_CUT */
#define INV_HEAD_FLAGS 0x80u /* a byte with the other flags follows */
_Static_assert(INV_TAG_COUNT <= INV_HEAD_NOTE, "tags fit into a head");

enum inv_ev_flags {
	INV_EV_EXTRA = 1u << 0,
	INV_EV_MS_RESULT = 1u << 1,
	INV_EV_SCHED = 1u << 2,
	INV_EV_TS_SHIFT = 3, /* three bits: enum inv_ts_kind */
	INV_EV_TS_MASK = 7u << 3,
	INV_EV_CUT = 1u << 6,	/* a term was cut, because of a limit of size or
				   depth */
	INV_EV_LIGHT = 1u << 7, /* payload => none: see below */
	/* In the byte of a record's other flags, where INV_EV_CUT is not: a mark
	 * replaces a redacted value. */
	INV_EV_REDACTED = INV_EV_CUT,
	/* In the same byte, where INV_EV_EXTRA is not: see below. */
	INV_EV_WHOLE = INV_EV_EXTRA,
};

/*
 * INV_EV_WHOLE: an event return_from, exception_from or exit also says how
 * long a call took. The event then has more terms after its other terms:
 *
 *      duration term: an integer, ns self term: an integer, ns: the the
 *      duration without the traced calls inside depth term: an integer: traced
 *      calls of the process around the call
 *
 * If the beginning of the call has no record, the terms that this record would
 * have come next: the tracee, the payload, and the ms_result, if the call has
 * one.
 */

/*
 * Light mode (payload => none): the record keeps process, tag and time. In
 * send, receive and seq_trace a HOLE replaces the message. The payload of call,
 * and the extra of spawn and spawned, are {M,F,Arity}. return_from and
 * exception_from have no value. Other tags are unchanged.
 */

/*
 * A note is a record that inviso itself writes: len, head, delta, kind
 * (varint), and terms. A note is not an event: it has no number in its stream,
 * and is not counted as produced or recorded. A packet contains either events
 * or notes. So a reader that needs only the events of a period can skip the
 * other packets with events, and still reads all notes.
 */
enum inv_note {
	/* A process (or port) has a name: its pid, a number (enum
	 * inv_note_name), and the name */
	INV_NOTE_NAME = 1,
	/* The atom true: a call of this log has INV_HEAD_ENDS if, and only if,
	 * the VM reports its end. false: from here on INV_HEAD_ENDS of calls
	 * means nothing */
	INV_NOTE_ENDS = 2,
	/* The definition of a record: the module that defines it, or [] if all
	 * modules that define it do so alike; the record's name; and a list of
	 * the names of its fields */
	INV_NOTE_RECORD = 3,
	/* An atom: the language of the node, elixir. Without this note it is
	 * Erlang */
	INV_NOTE_LANGUAGE = 4,
	/* The command has asked the node for the time. Terms: the number of
	 * the command; the number of the question, from 0; and the times at
	 * which the previous question was sent and answered, by the command's
	 * system clock, in ns, or 0. The note of the previous question was
	 * written between these two times */
	INV_NOTE_CLOCK = 5,
	/* The number of events of one key, which were counted and not
	 * recorded. Terms: the kind of the key (enum inv_count_of), the key,
	 * and the number since the beginning of the log. A later note of the
	 * same key replaces this note */
	INV_NOTE_COUNT = 6,
	/* The times of a key's calls. Terms: the kind of the key and the key,
	 * as in INV_NOTE_COUNT; how many calls have no time; the shortest time,
	 * the longest time and the sum of all times, in ns. If no call has a
	 * time, the shortest time is [] */
	INV_NOTE_TIMES = 7,
	/* A part of a key's histogram. Terms: the kind of the key and the key;
	 * the number of a block (abi/buckets.h); a list with the number of
	 * times in each bucket of the block, without the zeros at the end */
	INV_NOTE_BUCKETS = 8,
	/* A sample of the stack of a process: its pid; enum inv_sample_flag; how
	 * much time the sample stands for, in ns; a number of functions, and
	 * these functions, the outermost first: {M,F,Arity}; with INV_SAMPLE_ON
	 * also what the process waits for: a pid, a name or {Name,Node} */
	INV_NOTE_SAMPLE = 14,
	/* How samples were taken, since the beginning of the log: INV_SAMPLING_N
	 * numbers, in the order of enum inv_sampling. A later note replaces it */
	INV_NOTE_SAMPLING = 15,
	/* What the histograms of this log are of, if not of times: the
	 * expression, a binary of UTF-8. INV_NOTE_TIMES and INV_NOTE_BUCKETS
	 * then have its values, and not ns; a call without a time is an event
	 * for which the expression has no integer from 0 to INT64_MAX */
	INV_NOTE_MEASURE = 16,
};

enum inv_sample_flag {
	INV_SAMPLE_CUT = 1 << 0,      /* outer functions are missing */
	INV_SAMPLE_COLLECTS = 1 << 1, /* the process collected garbage */
	INV_SAMPLE_LATE = 1 << 2,     /* the process ran, but waited when it
				      answered: the stack is where it waited */
	INV_SAMPLE_WAITS = 1 << 3,    /* the process waited */
	INV_SAMPLE_ON = 1 << 4, /* it is known what the process waits for */
};

enum inv_sampling {
	INV_SAMPLING_NS = 0,   /* how long samples were taken */
	INV_SAMPLING_TICKS,    /* how often samples were taken */
	INV_SAMPLING_ASKED_HZ, /* how often they should be taken in a second */
	INV_SAMPLING_PROCESSES, /* on the node, without those of inviso, at most */
	INV_SAMPLING_FOUND,   /* processes that were found to run, or to wait if
				   that was asked; each time they were found */
	INV_SAMPLING_STACKS,  /* how many samples were taken */
	INV_SAMPLING_LATE,    /* of these: with INV_SAMPLE_LATE */
	INV_SAMPLING_CUT,     /* of these: with INV_SAMPLE_CUT */
	INV_SAMPLING_GONE,    /* processes that exited before they answered */
	INV_SAMPLING_LOST,    /* samples for which the log had no room */
	INV_SAMPLING_COST_NS, /* time that the sampler worked */
	INV_SAMPLING_N
};

/* The kinds of keys of INV_NOTE_COUNT, and the key of each kind. */
enum inv_count_of {
	INV_COUNT_TOTAL = 0,	/* all events; [] */
	INV_COUNT_FUNCTION = 1, /* calls; {M,F,Arity} */
	INV_COUNT_TAG = 2,	/* events other than calls; the key is their
				 * tag */
	INV_COUNT_PROCESS = 3,	/* events; the process or port */
	INV_COUNT_OTHERS = 4,	/* events of keys beyond the bound; [] */
	INV_COUNT_CALLER = 5,	/* calls; the {M,F,Arity} that called */
	INV_COUNT_VALUE = 6,	/* events; the value of an expression, the
				 * result of calls, or the reason of exits */
	INV_COUNT_FAILED = 7,	/* events for which the expression failed; [] */
	INV_COUNT_EXCEPTION = 8, /* calls that ended with an exception; {Class,
				  * Reason} */
};

/* Notes that a reader returns before the events of a file. The node writes
 * them, or repeats them, later than the events that need them. */
static inline int inv_note_is_early(unsigned kind)
{
	return kind >= INV_NOTE_NAME && kind <= INV_NOTE_LANGUAGE;
}

enum inv_note_name {
	INV_NAME_REGISTERED = 1, /* an atom */
	INV_NAME_LABEL = 2,	 /* the term of proc_lib:set_label/1 */
	INV_NAME_FUNCTION = 3,	 /* {M,F,Arity}: what the process runs */
	INV_NAME_NONE = 4, /* []: the process has no name, or has exited */
};

/* The kind of timestamp that the user requested from the VM. */
enum inv_ts_kind {
	INV_TS_NONE = 0,
	INV_TS_TIMESTAMP = 1,
	INV_TS_CPU = 2,
	INV_TS_MONOTONIC = 3,
	INV_TS_STRICT = 4,
};

/*
 * Why an event that the VM produced is not in the log. Each lost event is
 * counted under one reason: produced = recorded + the sum of the losses.
 */
#define INV_LOSSES(X)                                                         \
	X(FULL, 0, "full")		 /* the ring had no free packet */    \
	X(TOO_BIG, 1, "too_big")	 /* larger than a packet */           \
	X(LIMIT, 2, "limit")		 /* the tracer's own limit reached */ \
	X(OVERWRITTEN, 3, "overwritten") /* overwritten (keep => newest) */   \
	X(UNWRITTEN, 4, "unwritten")	 /* the log could not be written */   \
	X(UNFINISHED, 5, "unfinished")	 /* thread died while writing it */   \
	X(NO_RING, 6, "no_ring")	 /* the event's thread has no ring */ \
	X(DAMAGED, 7, "damaged")	 /* bytes in the ring were invalid */

enum inv_loss {
#define INV_LOSS_ENUM(name, number, text) INV_LOSS_##name = number,
	INV_LOSSES(INV_LOSS_ENUM)
#undef INV_LOSS_ENUM
	INV_LOSS_COUNT
};

#endif
