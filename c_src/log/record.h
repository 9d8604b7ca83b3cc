/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_RECORD_H
#define INV_LOG_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "log/notice.h"
#include "log/source.h"

/*
 * The framing of OTP's trace port files and of ti files: records of
 *
 *	op u8 | n u32, big-endian | op 0: n bytes, a term in external format
 *
 * op 1 says that n events were dropped.  There is no checksum: after damage
 * the next place that looks like a record, with another one behind it, is
 * taken.
 */
struct inv_record {
	uint64_t off; /* of the record in the file */
	uint64_t len; /* of all of it */
	bool is_drop;
	uint32_t n;	     /* dropped */
	const uint8_t *term; /* term_len bytes */
	uint32_t term_len;
};

/*
 * The next record at *off, which is moved past it: 0 or INV_END.  Damage is
 * reported and stepped over.
 */
int inv_record_next(const struct inv_source *src, uint64_t *off,
		    struct inv_notices *ns, struct inv_record *f);

/* The term of f was no term: reports it, and sets *off to where to go on. */
void inv_record_bad_term(const struct inv_source *src, uint64_t *off,
			 struct inv_notices *ns, const struct inv_record *f);

#endif
