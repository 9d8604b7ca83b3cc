/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_RING_H
#define INV_ABI_RING_H

#include <stdatomic.h>
#include <stdint.h>

#include "abi/event.h"
#include "abi/log.h"

/*
 * The memory that a tracer in the VM shares with its spooler: a sealed memfd,
 * or a file.  The memory stays consistent if either side dies at any
 * instruction.
 *
 *      +---------+--------+-   -+--------+- - -+---------+-   -+-------+-   -
 *      | control | ring 0 | ... | ring n |     | slots 0 | ... | large | ...
 *      +---------+--------+-   -+--------+- - -+---------+-   -+-------+-   -
 *
 * Each thread that can record events has one ring, and is the only writer of
 * that ring.  A ring is n_slots slots of packet_bytes; packet number seq (from
 * 1) lies in slot seq % n_slots:
 *
 *      +------+-----------------+- - - - - - - - -+---------------+
 *      | slot | events  --->    |      free       |  <--- defs    |
 *      +------+-----------------+- - - - - - - - -+---------------+
 *
 * An event is committed by one release store of the slot's commit word, which
 * contains the lengths of events and definitions and the number of events. A
 * reader that loads the word sees only whole events.
 *
 * An event that is larger than a packet lies in one of n_large large slots,
 * which all rings share. The thread claims a large slot and writes the event
 * there. Then it commits a packet of its own ring. This packet has no event
 * bytes, but the number of the large slot (struct inv_ring_large).
 *
 * A letter before a group of fields says which side writes them: (c) the
 * creator, before any other process maps the memory; (p) the ring's producer;
 * (k) the tracer's keeper in the VM; (s) the spooler.  No side trusts another:
 * sizes and offsets are checked on each use.  Integers are in the machine's own
 * byte order, because the memory never leaves the machine.  Normative text:
 * inviso-ring(7).
 */
#define INV_RING_MAGIC 0x31474e49524e4956u /* "VINRING1" in memory order */
#define INV_RING_VERSION 3u
/* The oldest version that is read; it has no large slots. */
#define INV_RING_VERSION_MIN 2u

#define INV_PACKET_MIN (4u * 1024)
#define INV_PACKET_MAX (512u * 1024)
#define INV_RINGS_MAX 4096u
#define INV_SLOTS_MIN 4u
#define INV_LARGE_MAX 1024u /* the most large slots */
#define INV_LARGE_BYTES_MAX (INV_EVENT_MAX + 4096u)

enum inv_keep {
	INV_KEEP_OLDEST = 0, /* a full ring drops new events; the spooler
				writes packets to the log on a timer */
	INV_KEEP_NEWEST = 1, /* flight recorder: a full ring overwrites its
				oldest packet; the spooler writes only on
				request */
};

/*
 * The state of the tracer. The keeper, the tracer's Erlang process, sets it
 * (k); if the keeper is dead, a callback of the VM sets it. The number never
 * decreases.
 */
enum inv_tracer_state {
	INV_TRACER_OPEN = 1,
	INV_TRACER_CLOSED = 2,	   /* no more events: the spooler writes what
				      is left to the log, ends the log and
				      exits */
	INV_TRACER_OWNER_DIED = 3, /* like CLOSED; the reason is that the
				      tracer's owner died */
};

/* The spooler's state (s). */
enum inv_spool_state {
	INV_SPOOL_NONE = 0,
	INV_SPOOL_RUNNING = 1,
	INV_SPOOL_STALLED = 2, /* the log cannot be written at the moment; the
				  control page's `error' gives the reason */
	INV_SPOOL_DONE = 3,    /* all events are in the log, or counted as
				  unwritten */
	INV_SPOOL_FAILED = 4,  /* the log could not be created or completed;
				  `error' gives the reason. If the memory is a
				  file, the file is kept */
};

#define INV_N_ANCHORS 16u
#define INV_PATH_LEN 4096u
#define INV_CACHE_LINE 64

/*
 * With the journal, a spooler whose predecessor has died neither repeats nor
 * skips a packet. First the spooler writes bytes to the log file. Then it fills
 * in the journal and sets `valid'. Then it copies the values of the journal to
 * the ring's head and the control page, and clears `valid'. If a new spooler
 * finds `valid' set, it repeats the copying.
 */
struct inv_ring_journal {
	_Atomic uint32_t valid;
	uint32_t ring;	   /* number of the ring; UINT32_MAX: only the control
			      page changes */
	uint64_t read_seq; /* from here to `damaged': new values of the fields
			      with the same names in the ring's head */
	uint64_t read_off;
	uint64_t read_event;
	uint64_t overwritten;
	uint64_t recorded;
	uint64_t unwritten;
	uint64_t damaged;
	uint64_t log_off; /* from here on: new values for the control page */
	uint64_t log_bytes;
	uint64_t anchors_done;
	uint32_t log_file;
	uint32_t pad0;
};

struct inv_ring_ctl {
	/* (c) identity of the mapping */
	uint64_t magic;
	uint32_t version;
	uint32_t n_rings;
	uint64_t total_len;    /* bytes of the whole mapping */
	uint32_t rings_off;    /* where ring 0 is, in bytes from the mapping's
				  start */
	uint32_t ring_len;     /* sizeof(struct inv_ring_head) */
	uint32_t packet_bytes; /* bytes of a slot, with its head */
	uint32_t keep;	       /* enum inv_keep */
	uint8_t uuid[16];
	int32_t vm_pid;
	uint32_t creation;
	uint64_t vm_start; /* start time of vm_pid (field 22 of
			      /proc/<pid>/stat), because pids are reused */
	/* (c) options of the spooler */
	uint32_t codec;	   /* enum inv_log_codec */
	int32_t level;	   /* compression level; 0: the codec's default */
	uint32_t drain_ms; /* the interval in which full packets are written to
			    * the log */
	uint32_t flush_ms; /* the interval in which packets that are not full
			    * are written to the log; 0: only on request */
	uint64_t rotate_bytes; /* file size at which a new file begins; 0:
				  never */
	uint64_t rotate_ns;    /* file age at which a new file begins; 0:
				  never */
	uint32_t rotate_count; /* how many files are kept; 0: all */
	uint32_t replace;      /* 1: delete an existing file at path first */
	char node[1024];       /* this text and the next three are UTF-8 and end
				  with NUL */
	char otp_release[32];
	char erts_version[32];
	char path[INV_PATH_LEN]; /* absolute; names of rotated files end in
				    ".N" */
	uint64_t vm_pid_ns; /* inode of /proc/self/ns/pid in the VM, that is, of
			       the PID namespace to which vm_pid belongs; 0:
			       unknown */
	/* The large slots are the last n_large * large_bytes bytes of the
	 * mapping. */
	uint32_t n_large;     /* how many large slots there are; 0: none */
	uint32_t large_bytes; /* bytes of each large slot, with its head */

	/* (k) */
	_Alignas(INV_CACHE_LINE) _Atomic uint32_t state;
	uint32_t pad0;
	_Atomic uint64_t flush_req; /* number of the newest flush request; when
				       the flush is complete, the spooler copies
				       it to flush_done */
	_Atomic uint64_t
		n_anchors; /* how many anchors were taken so far; anchor i, from
			      0, is stored in anchors[i % INV_N_ANCHORS] */
	_Atomic uint64_t no_ring; /* events dropped because their thread has
				     no ring (INV_LOSS_NO_RING); any thread
				     increments it */
	struct inv_anchor anchors[INV_N_ANCHORS];

	/* (s) */
	_Alignas(INV_CACHE_LINE) _Atomic uint32_t spool_state;
	_Atomic int32_t spool_pid;
	_Atomic uint64_t flush_done;   /* number of the newest flush request
					  that is complete: its events are in
					  the log */
	_Atomic uint64_t log_off;      /* how many bytes from the start of the
					  current file are valid */
	_Atomic uint32_t log_file;     /* number of the current file */
	_Atomic uint32_t log_first;    /* number of the oldest file that still
					exists */
	_Atomic uint64_t log_bytes;    /* bytes written to all files */
	_Atomic uint64_t anchors_done; /* how many anchors are in the log */
	_Atomic uint64_t respawns;     /* how many spoolers have attached so
					  far */
	_Atomic int32_t error;	       /* errno of the last failure; 0: none */
	char error_text[252];	       /* valid while error is not 0 */
	struct inv_ring_journal journal;
};

/* The head of one thread's ring. */
struct inv_ring_head {
	/* (c) */
	uint64_t slots_off; /* bytes from the mapping's start to this ring's
			       slots */
	uint32_t n_slots;
	uint32_t pad0;

	/* (p) */
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t seq; /* number of the newest
							  packet opened; 0: none
							  yet */
	_Atomic uint64_t next_seq; /* only with keep => newest: number of the
				      packet that the producer is opening, or
				      has opened last; never less than `seq' */
	_Atomic uint64_t produced; /* events that the VM produced */
	_Atomic uint64_t dropped[INV_LOSS_COUNT]; /* losses that the producer
						     counts */

	/* (s) */
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t read_seq; /* number of the
							       packet to read
							       next, from 1 */
	_Atomic uint64_t read_off;    /* how many bytes of the events in packet
					 read_seq were read already */
	_Atomic uint64_t read_event;  /* number of the next event to read */
	_Atomic uint64_t hold;	      /* number of the packet that the spooler
					 is reading; 0: none. With keep =>
					 newest the producer does not overwrite
					 this packet */
	_Atomic uint64_t overwritten; /* events overwritten before they could be
					 read */
	_Atomic uint64_t recorded;    /* events in the log */
	_Atomic uint64_t unwritten;   /* events that could not be written
					 (INV_LOSS_UNWRITTEN) */
	_Atomic uint64_t damaged;     /* events in invalid packets */
};
_Static_assert(sizeof(struct inv_ring_head) % INV_CACHE_LINE == 0, "lines");

struct inv_ring_slot {
	_Atomic uint64_t seq;	 /* packet number in this slot; 0: none */
	_Atomic uint64_t commit; /* INV_COMMIT */
	uint64_t begin_ns;	 /* monotonic time at which the packet was
				    opened */
	uint64_t first_event;	 /* number of the packet's first event, from
				    0 */
	uint64_t dropped[INV_LOSS_COUNT]; /* the values of `dropped' in the
					     ring's head when this packet was
					     opened */
	_Atomic uint64_t end_ns; /* time of the packet's last event, or slightly
				    later */
	_Atomic uint32_t large;	 /* 0: the events are in data. Otherwise the
				   packet has one event, and this is 1 + the
				   number of the large slot with that event */
	uint32_t pad0;
	uint64_t reserved[2];
	uint8_t data[];
};
_Static_assert(sizeof(struct inv_ring_slot) == 128, "two lines");

/*
 * A large slot. `owner' is 0 if the slot belongs to no packet. Otherwise it
 * says to which packet the slot belongs:
 *
 *	busy 1 bit | 1 + number of the ring 15 bits | packet number 48 bits
 *
 * A thread claims the slot for a packet with one compare and swap, which sets
 * `busy'. While `busy' is set, only this thread uses the slot. After the thread
 * has cleared `busy', the slot becomes free as soon as its packet was read or,
 * with keep => newest, overwritten. With keep => newest, a thread may also
 * claim a slot whose packet was not read, unless a reader has set the ring's
 * `hold' to the packet. So a reader first sets `hold' and then checks the owner
 * (ring/large.h).
 */
struct inv_ring_large {
	_Atomic uint64_t owner;
	_Atomic uint64_t begin_ns; /* time of the event */
	uint32_t ev;  /* bytes of the event, which lies at the start of data */
	uint32_t def; /* bytes of the event's definitions, which lie at the
			 slot's end */
	uint64_t reserved[5];
	uint8_t data[];
};
_Static_assert(sizeof(struct inv_ring_large) == INV_CACHE_LINE, "one line");

#define INV_LARGE_BUSY (UINT64_C(1) << 63)
#define INV_LARGE_OWNER(ring, seq) ((uint64_t)((ring) + 1) << 48 | (seq))
#define INV_LARGE_RING(owner) ((uint32_t)((owner) >> 48 & 0x7fff) - 1)
#define INV_LARGE_SEQ(owner) ((owner) & (UINT64_C(0xffffffffffff)))

/* The commit word: number of events 24 bits | bytes of definitions 20 | bytes
 * of events 20. */
#define INV_COMMIT(ev, def, n) \
	((uint64_t)(ev) | (uint64_t)(def) << 20 | (uint64_t)(n) << 40)
#define INV_COMMIT_EV(c) ((uint32_t)((c)&0xfffff))
#define INV_COMMIT_DEF(c) ((uint32_t)((c) >> 20 & 0xfffff))
#define INV_COMMIT_N(c) ((uint32_t)((c) >> 40))

#endif
