/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_SCAN_H
#define INV_LOG_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/log.h"

/*
 * From packet to packet through the bytes of a log, all of which may be here,
 * or the first ones.  Heads are verified; a body only where the packet's end
 * does not meet another head.  What lies between sound packets is a gap.
 */
struct inv_scan_bytes {
	const uint8_t *data;
	size_t size;
	uint64_t off; /* of data[0] in the log: what lies before was scanned */
	bool last;    /* no more bytes will come */
};

/* Where a packet lies. */
struct inv_log_place {
	struct inv_log_packet head;
	const char *file;    /* as shown in messages; set by who reads */
	uint64_t off;	     /* of the head in the file */
	const uint8_t *body; /* head.body_len bytes, in the source; NULL: they
				are not all there, or damaged */
	bool damaged;	     /* the scan found it so */
};

struct inv_scan_step {
	bool is_gap;
	struct inv_log_place at; /* of a packet */
	uint64_t off;		 /* of a gap */
	uint64_t len;
	const char *what; /* to be told of a gap; NULL: it is the body of the
			     packet before, whose reader tells */
};

/* Begins where off says; all else zero. */
struct inv_scan {
	uint64_t off; /* where to go on: what lies before is not needed */
	/* private */
	uint64_t in_vain; /* bytes hashed */
	bool lost;	  /* in a gap, */
	uint64_t gap;	  /* which begins here */
	const char *what;
};

/*
 * The next packet or gap: 0; or INV_END: there is none before more bytes come,
 * or, with the last ones, none at all.
 */
int inv_scan_next(struct inv_scan *s, const struct inv_scan_bytes *b,
		  struct inv_scan_step *step);

/* What comes at s->off is no packet: a gap begins there. */
void inv_scan_lose(struct inv_scan *s, uint64_t from, const char *what);

/*
 * Whether a packet head that makes sense lies at off.  That its body lies
 * within the bytes is not asked.
 */
bool inv_scan_head_at(const struct inv_scan_bytes *b, uint64_t off,
		      struct inv_log_packet *h);

/* Bytes that the packet at off takes; 0: more than there are. */
uint64_t inv_scan_packet_len(const struct inv_scan_bytes *b, uint64_t off,
			     const struct inv_log_packet *h);

/*
 * Moves *off to the first sound head at or after it.  false: there is none, and
 * *off is where to look when more bytes have come.
 */
bool inv_scan_find_head(const struct inv_scan_bytes *b, uint64_t *off);

#endif
