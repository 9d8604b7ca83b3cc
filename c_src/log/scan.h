/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_SCAN_H
#define INV_LOG_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/log.h"
#include "log/packet_max.h"
#include "log/window.h"

/*
 * Steps from packet to packet through the bytes of a log, which may be
 * incomplete. Verifies the checksum of each head, and the checksum of each body
 * except those of EVENTS packets. The body of an EVENTS packet is verified only
 * if neither a valid head nor the end of the log follows it. Bytes that belong
 * to no valid packet are a gap.
 */

/* The size of a window for a scan. */
#define INV_SCAN_WINDOW (INV_PACKET_BODY_MAX + 64u * 1024)

/* Special values for a parameter that is otherwise the number of a stream. With
 * one of these values, a function takes only ANCHORS packets, only TOTALS
 * packets, or only packets of notes, whatever their stream is. */
#define INV_LOG_ANCHORS_ONLY UINT32_MAX
#define INV_LOG_TOTALS_ONLY (UINT32_MAX - 1)
#define INV_LOG_NOTES_ONLY (UINT32_MAX - 2)

/* Where a packet is, and its head. */
struct inv_log_place {
	struct inv_log_packet head;
	const struct inv_source *src;
	uint64_t off;	     /* offset of the head in the source */
	const uint8_t *body; /* head.body_len bytes in memory; NULL: the body is
				in a file, or incomplete, or damaged */
	bool cut;	     /* the source ends inside the body */
	bool damaged;	     /* the scan has found that the body's checksum is
				wrong */
};

struct inv_scan_step {
	bool is_gap;
	struct inv_log_place at; /* the packet, if is_gap is false */
	uint64_t off;		 /* start and length of the gap, if is_gap is
				    true */
	uint64_t len;
	const char *what; /* what is wrong, for a notice. NULL: the gap is the
			     damaged body of the previous packet, and needs no
			     notice, because the reader of that body makes
			     one */
};

/* The state of a scan. The caller sets `off' to the offset at which to start,
 * and all other fields to zero. */
struct inv_scan {
	uint64_t off; /* position of the scan; it no longer needs the bytes
			 before this offset */
	/* private */
	uint64_t in_vain; /* bytes of all bodies that were hashed and whose
			     checksum was wrong */
	bool lost;	  /* inside a gap */
	uint64_t gap;	  /* start of the gap */
	const char *what;
};

/*
 * Sets *step to the next packet or gap and returns 0. Returns INV_END if more
 * bytes are needed or, if the source no longer grows, if there are no more
 * packets. The window must have INV_SCAN_WINDOW bytes.
 */
int inv_scan_next(struct inv_scan *s, struct inv_window *w,
		  struct inv_scan_step *step);

/* Starts a gap at s->off, at which no valid packet begins. The search for the
 * next packet starts at the offset `from'. `what' is the text for a notice, or
 * NULL. */
void inv_scan_lose(struct inv_scan *s, uint64_t from, const char *what);

/* Reads the packet head at p. Returns false if it is invalid. */
bool inv_scan_head(const uint8_t *p, struct inv_log_packet *h);

/* Returns the length of the packet at off, or 0 if the packet extends beyond
 * the end of the source. */
uint64_t inv_scan_packet_len(const struct inv_source *src, uint64_t off,
			     const struct inv_log_packet *h);

/* Sets the fields src, off, cut and body of *at for the packet at `off'. The
 * fields head and damaged of *at must be valid. */
void inv_scan_locate(struct inv_log_place *at, const struct inv_source *src,
		     uint64_t off);

/*
 * Searches for the first valid head between *off and end, sets *off to its
 * offset and returns true. If there is none, returns false and sets *off to the
 * offset at which to continue when more bytes are available.
 */
bool inv_scan_find_head(struct inv_window *w, uint64_t *off, uint64_t end);

#endif
