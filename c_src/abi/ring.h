/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_RING_H
#define INV_ABI_RING_H

#include <stdatomic.h>
#include <stdint.h>

#include "abi/event.h"
#include "abi/log.h"

/*
 * The memory that a tracer in the VM shares with its spooler: a sealed memfd,
 * or a file.  It survives the death of either side at any instruction.
 *
 *      +---------+--------+-   -+--------+- - -+---------+---------+-   -
 *      | control | ring 0 | ... | ring n |     | slots 0 | slots 1 | ...
 *      +---------+--------+-   -+--------+- - -+---------+---------+-   -
 *
 * One ring a thread that can trace; its thread alone writes it.  A ring is
 * n_slots slots of packet_bytes; packet number seq (from 1) lies in slot
 * seq % n_slots:
 *
 *      +------+-----------------+- - - - - - - - -+---------------+
 *      | slot | events  --->    |      free       |  <--- defs    |
 *      +------+-----------------+- - - - - - - - -+---------------+
 *
 * An event is committed by one release store of the slot's commit word, which
 * holds the lengths of events and definitions and the number of events at
 * once: whoever loads it sees whole events only.
 *
 * Who writes what: (c) the creator, before anybody else maps it; (p) the
 * ring's producer; (k) the tracer's keeper in the VM; (s) the spooler.
 * Nobody trusts what the other wrote: sizes and offsets are checked on use.
 * Integers are in the machine's own byte order; the mapping does not travel.
 * Normative text: inviso-ring(7).
 */
#define INV_RING_MAGIC 0x31474e49524e4956u /* "VINRING1" in memory order */
#define INV_RING_VERSION 1u

#define INV_PACKET_MIN (4u * 1024)
#define INV_PACKET_MAX (512u * 1024)
#define INV_RINGS_MAX 4096u
#define INV_SLOTS_MIN 4u

enum inv_keep {
	INV_KEEP_OLDEST = 0, /* a full ring drops events; drained on a timer */
	INV_KEEP_NEWEST = 1, /* flight recorder: drained when asked only */
};

/*
 * The tracer's life, written by the keeper (k), or by the VM when the keeper
 * is gone.  It only ever grows.
 */
enum inv_tracer_state {
	INV_TRACER_OPEN = 1,
	INV_TRACER_CLOSED = 2,	   /* no event will come: drain, end, leave */
	INV_TRACER_OWNER_DIED = 3, /* the same, and why */
};

/* The spooler's state (s). */
enum inv_spool_state {
	INV_SPOOL_NONE = 0,
	INV_SPOOL_RUNNING = 1,
	INV_SPOOL_STALLED = 2, /* the log cannot be written: see error */
	INV_SPOOL_DONE = 3,    /* all is in the log, or counted as unwritten */
	INV_SPOOL_FAILED = 4,  /* no log could be begun, or the end came before
				  all was written, and the rest is in the
				  ring's file: see error */
};

#define INV_N_ANCHORS 16u
#define INV_PATH_LEN 4096u
#define INV_CACHE_LINE 64

/*
 * What the spooler is about to have done, so that a successor neither repeats
 * nor skips a packet: the bytes are in the log file before valid is set, and
 * valid is cleared when ring and log_off below have been brought up to it.
 */
struct inv_ring_journal {
	_Atomic uint32_t valid;
	uint32_t ring;	   /* index; UINT32_MAX: none, only the log moves */
	uint64_t read_seq; /* of the ring, as all down to damaged */
	uint64_t read_off;
	uint64_t read_event;
	uint64_t overwritten;
	uint64_t recorded;
	uint64_t unwritten;
	uint64_t damaged;
	uint64_t log_off; /* of the control page, as all below */
	uint64_t log_bytes;
	uint64_t anchors_done;
	uint32_t log_file;
	uint32_t pad0;
};

struct inv_ring_ctl {
	/* (c) what this is */
	uint64_t magic;
	uint32_t version;
	uint32_t n_rings;
	uint64_t total_len;    /* of the mapping */
	uint32_t rings_off;    /* of ring 0, from the mapping's start */
	uint32_t ring_len;     /* sizeof(struct inv_ring_head) */
	uint32_t packet_bytes; /* of a slot, its head included */
	uint32_t keep;	       /* enum inv_keep */
	uint8_t uuid[16];
	int32_t vm_pid;
	uint32_t creation;
	uint64_t vm_start; /* field 22 of /proc/<pid>/stat: pids are reused */
	/* (c) what the spooler shall do */
	uint32_t codec;	   /* enum inv_log_codec */
	int32_t level;	   /* of the codec; 0: its default */
	uint32_t drain_ms; /* full packets go to the log this often */
	uint32_t flush_ms; /* and what is in open ones this often; 0: only when
			      asked */
	uint64_t rotate_bytes; /* next file at this size; 0: never */
	uint64_t rotate_ns;    /* or at this age; 0: never */
	uint32_t rotate_count; /* files kept; 0: all */
	uint32_t replace;      /* remove what is at path before creating it */
	char node[1024];       /* UTF-8, NUL ended, as are all texts here */
	char otp_release[32];
	char erts_version[32];
	char path[INV_PATH_LEN]; /* absolute; rotated: ".N" is appended */
	uint64_t vm_pid_ns; /* inode of /proc/self/ns/pid, where vm_pid means
			       something; 0: unknown */

	/* (k) */
	_Alignas(INV_CACHE_LINE) _Atomic uint32_t state;
	uint32_t pad0;
	_Atomic uint64_t flush_req; /* a number; the spooler answers it */
	_Atomic uint64_t n_anchors; /* ever taken; the last INV_N_ANCHORS are
				       in anchors[i % INV_N_ANCHORS] */
	_Atomic uint64_t no_ring;   /* produced and dropped: INV_LOSS_NO_RING;
				       any thread adds */
	struct inv_anchor anchors[INV_N_ANCHORS];

	/* (s) */
	_Alignas(INV_CACHE_LINE) _Atomic uint32_t spool_state;
	_Atomic int32_t spool_pid;
	_Atomic uint64_t flush_done; /* the last flush_req that is in the log */
	_Atomic uint64_t log_off;    /* bytes of the file below that are good */
	_Atomic uint32_t log_file;   /* number of the file being written */
	_Atomic uint32_t log_first;  /* of the oldest file not deleted */
	_Atomic uint64_t log_bytes;  /* written in all files */
	_Atomic uint64_t anchors_done; /* anchors in the log */
	_Atomic uint64_t respawns;     /* spoolers that have attached, in all */
	_Atomic int32_t error;	       /* errno of the last failure; 0: none */
	char error_text[252];	       /* valid while error is not 0 */
	struct inv_ring_journal journal;
};

/* One a thread. */
struct inv_ring_head {
	/* (c) */
	uint64_t slots_off; /* from the mapping's start */
	uint32_t n_slots;
	uint32_t pad0;

	/* (p) */
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t seq; /* packet last opened;
							  0: none yet */
	_Atomic uint64_t next_seq; /* packet being opened: >= seq */
	_Atomic uint64_t produced; /* events offered */
	_Atomic uint64_t dropped[INV_LOSS_COUNT]; /* the producer's reasons */

	/* (s) */
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t read_seq; /* packet to read
							       next, from 1 */
	_Atomic uint64_t read_off;   /* bytes of its events that are read */
	_Atomic uint64_t read_event; /* number of the next event to read */
	_Atomic uint64_t hold; /* packet being read; 0: none.  keep => newest:
				  the producer leaves its slot alone */
	_Atomic uint64_t overwritten; /* events that were gone when read */
	_Atomic uint64_t recorded;    /* events in the log */
	_Atomic uint64_t unwritten;   /* events given up: INV_LOSS_UNWRITTEN */
	_Atomic uint64_t damaged;     /* events in packets that made no sense */
};
_Static_assert(sizeof(struct inv_ring_head) % INV_CACHE_LINE == 0, "lines");

struct inv_ring_slot {
	_Atomic uint64_t seq;	 /* packet in this slot; 0: none */
	_Atomic uint64_t commit; /* INV_COMMIT */
	uint64_t begin_ns;	 /* monotonic */
	uint64_t first_event;	 /* number of its first event, from 0 */
	uint64_t dropped[INV_LOSS_COUNT]; /* of the ring, when it was opened */
	_Atomic uint64_t end_ns; /* of its last event, or a little later one */
	uint64_t reserved[3];
	uint8_t data[];
};
_Static_assert(sizeof(struct inv_ring_slot) == 128, "two lines");

/* The commit word: events 24 bits | bytes of defs 20 | bytes of events 20. */
#define INV_COMMIT(ev, def, n) \
	((uint64_t)(ev) | (uint64_t)(def) << 20 | (uint64_t)(n) << 40)
#define INV_COMMIT_EV(c) ((uint32_t)((c)&0xfffff))
#define INV_COMMIT_DEF(c) ((uint32_t)((c) >> 20 & 0xfffff))
#define INV_COMMIT_N(c) ((uint32_t)((c) >> 40))

#endif
