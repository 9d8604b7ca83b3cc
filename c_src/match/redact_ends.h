/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_REDACT_ENDS_H
#define INV_MATCH_REDACT_ENDS_H

#include "base/buf.h"
#include "term/cursor.h"

/*
 * Remembers where the tuples, lists and maps (containers) of packed terms
 * (abi/term.h) end. The end of a term is needed often. For example, a rule
 * about the arguments of a function needs the last element of {M,F,A} before
 * the first one is copied. If ends were not remembered, the elements of a
 * container would be read again for each container around them.
 */
struct inv_redact_ends {
	struct inv_buf found; /* an array of struct inv_redact_end, in the order
			       * of the containers */
	const uint8_t *until; /* end of the outermost term that was read last */
	uint64_t n_read;      /* how many bytes were read to find ends */
};

/* Forgets all containers. */
void inv_redact_ends_reset(struct inv_redact_ends *ends);
void inv_redact_ends_release(struct inv_redact_ends *ends);

/*
 * Returns a pointer to the byte after the packed term at p, or NULL if the term
 * is invalid. The first call for a term reads the whole term with the cursor,
 * and remembers the ends of all containers in it; later calls for these
 * containers read nothing. So call this function for the outermost term first.
 */
const uint8_t *inv_redact_after(struct inv_redact_ends *ends,
				struct inv_cursor *cursor,
				const struct inv_dict *dict, const uint8_t *p,
				const uint8_t *end);

#endif
