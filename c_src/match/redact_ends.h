/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_REDACT_ENDS_H
#define INV_MATCH_REDACT_ENDS_H

#include "base/buf.h"
#include "term/cursor.h"

/*
 * Remembers where containers end. A rule for a function looks at the last
 * element of a tuple before it decides about the first element. Without this
 * memory, each level of nesting would be skipped again.
 */
struct inv_redact_ends {
	struct inv_buf found; /* of struct inv_redact_end, in order */
	const uint8_t *until; /* where the last term that was read ends */
	uint64_t n_read;      /* bytes that were read for skips */
};

/* Forgets all containers. */
void inv_redact_ends_reset(struct inv_redact_ends *ends);
void inv_redact_ends_release(struct inv_redact_ends *ends);

/*
 * Returns the place after the packed term at p, or NULL if the term is invalid.
 * Reads the term with the cursor only if this function was not called before
 * for the term or for a term around it. So call it for the outer term first.
 */
const uint8_t *inv_redact_after(struct inv_redact_ends *ends,
				struct inv_cursor *cursor,
				const struct inv_dict *dict, const uint8_t *p,
				const uint8_t *end);

#endif
