/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_RECORD_H
#define INV_LOG_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "log/notice.h"
#include "log/window.h"

/*
 * The framing of OTP's trace port files and of ti files.  A record is
 *
 *	op u8 | n u32, big-endian | op 0: n bytes, a term in external format
 *
 * op 1 means that n events were dropped.  There is no checksum.  After damage,
 * reading continues at the next position at which two records seem to follow
 * each other.
 */
struct inv_record {
	uint64_t off; /* offset of the record in the file */
	uint64_t len; /* bytes of the record */
	bool is_drop;
	uint32_t n;	     /* how many events were dropped */
	const uint8_t *term; /* term_len bytes in the window; NULL: the term is
				larger than INV_RECORD_TERM_MAX */
	uint32_t term_len;
};

/* Larger terms are not read, so that memory is bounded. */
#define INV_RECORD_TERM_MAX (64u * 1024 * 1024)

/* The initial size of a window for records. The window grows if a term is
 * larger. */
#define INV_RECORD_WINDOW (64u * 1024)

/*
 * Reads the next record at or after *off, and sets *off to the byte after the
 * record. Returns 0, INV_END or INV_ENOMEM. Skips invalid bytes and reports
 * them. Also reports a term that is too large.
 */
int inv_record_next(struct inv_window *w, uint64_t *off, struct inv_notices *ns,
		    struct inv_record *f);

/* Call it if f's term is invalid. Reports the damage, and sets *off to the
 * position at which to continue. */
void inv_record_bad_term(struct inv_window *w, uint64_t *off,
			 struct inv_notices *ns, const struct inv_record *f);

#endif
