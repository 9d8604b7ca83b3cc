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
 * A varint is LEB128, least significant byte first, at most ten bytes. A
 * "signed" number is zigzag coded and then written as a varint.  Terms are
 * packed terms (abi/term.h).  Events of one stream are in the order of their
 * time.  Normative text: inviso-log(5).
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
	/* A tag that is not in INV_TAGS, for example of a newer release of OTP.
	 * The record contains the tag's atom. */
	INV_TAG_OTHER = 255
};

/*
 * Events of the VM's system monitor. The VM reports each as {monitor, Tracee,
 * Tag, Payload}. A session records each report as an event with INV_TAG_OTHER,
 * which contains the tag, the tracee and the payload of the report.
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
#define INV_HEAD_TAG 0x1fu   /* mask: tag, INV_HEAD_NOTE or _OTHER */
#define INV_HEAD_NOTE 0x1eu  /* the record is a note */
#define INV_HEAD_OTHER 0x1fu /* INV_TAG_OTHER */
#define INV_HEAD_EXTRA 0x20u /* in events other than call: INV_EV_EXTRA */
#define INV_HEAD_ENDS 0x20u  /* in a call: the VM will report its end */
#define INV_HEAD_CUT 0x40u   /* INV_EV_CUT */
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
	INV_EV_LIGHT = 1u << 7, /* recorded in light mode (payload => none) */
	/* The head of a record has a bit for INV_EV_CUT and a bit for
	 * INV_EV_EXTRA. So in the byte `flags' of the record, the same two
	 * bits have other meanings. The bit of INV_EV_CUT means that a mark
	 * replaces a redacted value: */
	INV_EV_REDACTED = INV_EV_CUT,
	/* The bit of INV_EV_EXTRA, in the byte `flags' of the record, means
	 * that the record describes a whole call (see the next comment): */
	INV_EV_WHOLE = INV_EV_EXTRA,
};

/*
 * INV_EV_WHOLE: an event return_from, exception_from or exit also says how
 * long a call took. The event then has three more terms after its other terms.
 * Each is an integer:
 *
 *      duration  how long the call took, in ns
 *      self      the duration without the traced calls inside the call, in ns
 *      depth     how many traced calls of the process were around the call
 *
 * If the node recorded no event at the start of the call, the terms of such an
 * event follow, too: the tracee, the payload, and the ms_result if there is
 * one.
 */

/*
 * Light mode (payload => none) leaves out messages, arguments and results. In
 * send, receive and seq_trace a HOLE (abi/term.h) replaces the message. The
 * payload of call is {M,F,Arity}. The extra of spawn and spawned is
 * {M,F,Arity}, too. return_from and exception_from have no value. The records
 * of other tags are unchanged.
 */

/*
 * A note is a record that inviso itself writes: len, head, delta, kind
 * (varint), and terms. A note is not an event: the events of a stream are
 * numbered, notes are not; and a note is not counted as produced or recorded. A
 * packet contains either events or notes. So a reader that needs only the
 * events of some period can skip all packets with events of other times, and
 * still reads every note.
 */
enum inv_note {
	/* The name of a process or port. Terms: the pid or port, the kind of
	 * the name (enum inv_note_name), and the name */
	INV_NOTE_NAME = 1,
	/* One term. true: in this log a call has INV_HEAD_ENDS if, and only if,
	 * the VM reports the call's end. false: from this note on,
	 * INV_HEAD_ENDS in a call has no meaning */
	INV_NOTE_ENDS = 2,
	/* The definition of an Erlang record. Terms: the module that defines
	 * the record, or [] if all modules that define a record of this name
	 * give it the same fields; the record's name; a list of the names of
	 * its fields */
	INV_NOTE_RECORD = 3,
	/* The language of the node. One term, the atom elixir. Without this
	 * note the language is Erlang */
	INV_NOTE_LANGUAGE = 4,
	/* The command has asked the node for the time. Terms: a number that
	 * identifies the command; how many times the command had asked before;
	 * when it sent the previous question; when it got the answer to the
	 * previous question. These times are in ns of the command's system
	 * clock; 0: there was no previous question. The node wrote the note of
	 * the previous question between these two times */
	INV_NOTE_CLOCK = 5,
	/* How many events had one key, for example a function. The events were
	 * counted and not recorded. Terms: the kind of the key (enum
	 * inv_count_of), the key, and the count since the beginning of the log.
	 * A later note of the same key replaces this note */
	INV_NOTE_COUNT = 6,
	/* How long the calls with one key took. Terms: the kind of the key and
	 * the key, as in INV_NOTE_COUNT; how many of the calls have no time;
	 * the shortest time, the longest time and the sum of all times, in ns.
	 * If no call has a time, the shortest time is [] */
	INV_NOTE_TIMES = 7,
	/* One block of the histogram of the times of the calls with one key.
	 * Terms: the kind of the key and the key; the number of the block
	 * (abi/buckets.h); a list with a number for each bucket of the block,
	 * which says how many calls have a time in this bucket. Zeros at the
	 * end of the list are left out */
	INV_NOTE_BUCKETS = 8,
	/* A sample of the stack of a process. Terms: the pid; flags (enum
	 * inv_sample_flag); how much time the sample represents, in ns; how
	 * many functions follow; these functions, each {M,F,Arity}, the
	 * outermost first. With INV_SAMPLE_ON a last term says what the process
	 * waits for: a pid, a name or {Name,Node} */
	INV_NOTE_SAMPLE = 14,
	/* Figures about all samples since the beginning of the log. Terms:
	 * INV_SAMPLING_N numbers, in the order of enum inv_sampling. A later
	 * note of this kind replaces this note */
	INV_NOTE_SAMPLING = 15,
	/* The histograms of this log are of the values of an expression, not of
	 * times. One term: the expression, a binary of UTF-8. INV_NOTE_TIMES
	 * and INV_NOTE_BUCKETS then contain these values instead of ns. Their
	 * number of calls without a time is then the number of events for which
	 * the value is no integer from 0 to INT64_MAX */
	INV_NOTE_MEASURE = 16,
};

enum inv_sample_flag {
	INV_SAMPLE_CUT = 1 << 0,      /* outer functions are missing */
	INV_SAMPLE_COLLECTS = 1 << 1, /* the process collected garbage */
	INV_SAMPLE_LATE = 1 << 2,     /* the process ran when the sampler found
				      it, but then waited when its stack was
				      taken */
	INV_SAMPLE_WAITS = 1 << 3,    /* the process waited */
	INV_SAMPLE_ON = 1 << 4, /* the sample says what the process waits for */
};

/* The sampler looks for processes to sample at each tick of a timer. */
enum inv_sampling {
	INV_SAMPLING_NS = 0,	/* time from the start to the last tick */
	INV_SAMPLING_TICKS,	/* number of ticks */
	INV_SAMPLING_ASKED_HZ,	/* requested number of ticks in a second */
	INV_SAMPLING_PROCESSES, /* the highest number of processes on the node,
				   without those of inviso */
	INV_SAMPLING_FOUND,	/* number of samples, plus number of processes
				 that were found, but not asked for their
				 stacks (in each tick, the number of processes
				 that are asked and the time are bounded) */
	INV_SAMPLING_STACKS,	/* how many samples were taken */
	INV_SAMPLING_LATE,	/* samples with INV_SAMPLE_LATE */
	INV_SAMPLING_CUT,	/* samples with INV_SAMPLE_CUT */
	INV_SAMPLING_GONE,	/* processes that exited before they answered */
	INV_SAMPLING_LOST,	/* samples for which the log had no room */
	INV_SAMPLING_COST_NS,	/* how long the sampler itself has run */
	INV_SAMPLING_N
};

/* The kinds of keys of INV_NOTE_COUNT. Each comment says what is counted, and
 * what the key is. */
enum inv_count_of {
	INV_COUNT_TOTAL = 0,	 /* all events; key: [] */
	INV_COUNT_FUNCTION = 1,	 /* calls; key: {M,F,Arity} */
	INV_COUNT_TAG = 2,	 /* events other than calls; key: their tag */
	INV_COUNT_PROCESS = 3,	 /* events; key: the process or port */
	INV_COUNT_OTHERS = 4,	 /* events for whose key the table of a thread
				 * had no room; key: [] */
	INV_COUNT_CALLER = 5,	 /* calls; key: the {M,F,Arity} of the caller */
	INV_COUNT_VALUE = 6,	 /* events; key: the value of an expression, the
				 * result of the call, or the reason of the
				 * exit */
	INV_COUNT_FAILED = 7,	 /* events for which the expression failed;
				 * key: [] */
	INV_COUNT_EXCEPTION = 8, /* calls that ended with an exception; key:
				  * {Class, Reason} */
};

/* Returns true for the kinds of notes that a reader returns before all events
 * of a file. Readers need these notes for events that may be earlier in the
 * file. */
static inline int inv_note_is_early(unsigned kind)
{
	return kind >= INV_NOTE_NAME && kind <= INV_NOTE_LANGUAGE;
}

enum inv_note_name {
	INV_NAME_REGISTERED = 1, /* an atom */
	INV_NAME_LABEL = 2,	 /* the term of proc_lib:set_label/1 */
	INV_NAME_FUNCTION = 3,	 /* {M,F,Arity} with which the process began */
	INV_NAME_NONE = 4,  /* []: the process has no name, or has exited */
	INV_NAME_CHILD = 5, /* the process's own name was not read; two terms
			     * follow: INV_NAME_REGISTERED or
			     * INV_NAME_FUNCTION, and the name of its parent */
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
 * Reasons why an event that the VM produced is not in the log. Each lost event
 * is counted under exactly one reason, so the number of produced events is the
 * number of recorded events plus the sum of all losses.
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
