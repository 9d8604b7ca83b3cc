/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_REDACT_TERMS_H
#define INV_MATCH_REDACT_TERMS_H

#include "base/buf.h"
#include "match/redact.h"
#include "match/redact_ends.h"
#include "term/cursor.h"

/*
 * Copies packed terms with marks in the place of redacted values, as the tracer
 * records them (nif/redact.h). The bytes need not be trusted: invalid terms are
 * an error. A term that is nested deeper than any tracer records is replaced by a
 * mark.
 */
enum inv_redact_how {
	INV_REDACT_BY_RULES,
	INV_REDACT_NOT,	   /* the term is copied unchanged */
	INV_REDACT_HIDE,   /* a mark replaces the whole term */
	INV_REDACT_SHAPE,  /* only the shape of the term remains, as with the
			      rule `all' */
	INV_REDACT_REASON, /* the shape of the term, but with the VM's own
			    * reasons such as badarg */
};

struct inv_redact_copy {
	const struct inv_redact *rules;
	const struct inv_dict *dict;
	struct inv_cursor *cursor;    /* looks at the next term; each use
					 starts it anew */
	struct inv_redact_ends *ends; /* reset for each event */
	const uint8_t *p;	      /* the next term to copy */
	const uint8_t *end;
	struct inv_buf *out;
	uint64_t marks; /* how many marks were written */
	/* The first redacted values, in the order of their places.
	 * inv_redact_result searches for these values. n_hidden can be
	 * larger. */
	struct inv_redact_hidden {
		const uint8_t *p;
		size_t len;
	} hidden[16];
	unsigned n_hidden;
	bool in_result;
};

/* Copies the next term. Returns 0, or INV_EDAMAGED. */
int inv_redact_term(struct inv_redact_copy *x, enum inv_redact_how how);

/* Copies the result of a match spec. Call this after the event's other terms
 * were copied: values that were redacted in them are redacted in the result,
 * too. */
int inv_redact_result(struct inv_redact_copy *x);

/*
 * Copies the next term, {M,F,Args} or {M,F,Arity}. Sets *call to the parts
 * that the rules redact in calls of the function.
 */
int inv_redact_mfa_term(struct inv_redact_copy *x,
			struct inv_redact_call *call);

/* If the next term is a tuple of n elements, copies its head, moves to the first
 * element, and returns true. */
bool inv_redact_open_tuple(struct inv_redact_copy *x, uint32_t n);

#endif
