/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_SEQ_INT_H
#define INV_FLOW_SEQ_INT_H

#include <string.h>

#include "flow/seq.h"

/* Private to the files that read seq_trace events. */

/* Returns the hash of h and x. If only x differs, the hashes differ. */
static inline uint64_t inv__seq_mix(uint64_t h, uint64_t x)
{
	h = h * UINT64_C(0x9e3779b97f4a7c15) + x;
	h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
	h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 32;
}

/* Returns a hash of n 64-bit numbers, for hash tables. */
static inline unsigned inv__seq_bucket(const void *numbers, size_t n)
{
	uint64_t h = 0, x;

	for (size_t i = 0; i < n; i++) {
		memcpy(&x, (const char *)numbers + i * sizeof(x), sizeof(x));
		h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return (unsigned)h;
}

/* Returns the hash of a token of a label. Hashes only the fields that a token
 * of this kind has. */
uint64_t inv__seq_token(const struct inv_item *it, const struct inv_token *tok);

/* These functions set the kind, the sender and the receiver in *s. tok is the
 * first token of the term. They return false if an event of seq_trace cannot
 * have such a term. */
bool inv__seq_kind(struct inv_seq *s, const struct inv_token *tok);
bool inv__seq_from(struct inv_seq *s, const struct inv_item *it,
		   const struct inv_token *tok);
bool inv__seq_to(struct inv_seq *s, const struct inv_item *it,
		 const struct inv_token *tok);

/* Like inv_seq_read, for all kinds of terms, in all encodings. */
bool inv__seq_terms(struct inv_seq *s, struct inv_cursor *c,
		    const struct inv_item *it);

/*
 * Like inv__seq_terms, but several times faster, and only for events with
 * simple terms in inviso's own encoding. Returns false for all other events and
 * for invalid ones: then *s is undefined.
 */
bool inv__seq_packed(struct inv_seq *s, const struct inv_item *it);

#endif
