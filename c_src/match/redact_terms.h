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
	INV_REDACT_NOT,	   /* the term is no data: it is copied */
	INV_REDACT_HIDE,   /* a mark replaces the whole term */
	INV_REDACT_SHAPE,  /* as the rule `all' says */
	INV_REDACT_REASON, /* a shape, with reasons of the VM such as badarg */
};

struct inv_redact_copy {
	const struct inv_redact *rules;
	const struct inv_dict *dict;
	struct inv_cursor *cursor;    /* used for a while */
	struct inv_redact_ends *ends; /* reset for each event */
	const uint8_t *p;	      /* the next term */
	const uint8_t *end;
	struct inv_buf *out;
	uint64_t marks; /* how many were written */
};

/* Copies the next term. Returns 0, or INV_EDAMAGED. */
int inv_redact_term(struct inv_redact_copy *x, enum inv_redact_how how);

/*
 * Copies the next term, {M,F,Args} or {M,F,Arity}. Sets *call to what the rules
 * redact of the function.
 */
int inv_redact_mfa_term(struct inv_redact_copy *x,
			struct inv_redact_call *call);

/* If the next term is a tuple of n elements, copies its head, moves to the first
 * element, and returns true. */
bool inv_redact_open_tuple(struct inv_redact_copy *x, uint32_t n);

#endif
