/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_REDACT_TERMS_H
#define INV_MATCH_REDACT_TERMS_H

#include "base/buf.h"
#include "match/redact.h"
#include "match/redact_ends.h"
#include "term/cursor.h"

/*
 * Copies packed terms (abi/term.h), with marks in the place of redacted values.
 * The result is the same as if the tracer had applied the rules (nif/redact.h).
 * The bytes may come from a damaged file: an invalid term is an error. A term
 * that is nested deeper than tracers can record is replaced by a mark.
 */
enum inv_redact_how {
	INV_REDACT_BY_RULES, /* the rules decide about each part of the term */
	INV_REDACT_NOT,	     /* the term is copied unchanged */
	INV_REDACT_HIDE,     /* a mark replaces the whole term */
	INV_REDACT_SHAPE,    /* only the shape of the term remains, as with the
			      rule `all' */
	INV_REDACT_REASON, /* as INV_REDACT_SHAPE, but reasons of the VM itself,
			    * such as badarg, are copied */
};

struct inv_redact_copy {
	const struct inv_redact *rules;
	const struct inv_dict *dict;
	struct inv_cursor *cursor;    /* to look at the next term; each use
					 initializes it */
	struct inv_redact_ends *ends; /* reset for each event */
	const uint8_t *p;	      /* the next term to copy */
	const uint8_t *end;
	struct inv_buf *out;
	uint64_t marks; /* how many marks were written */
	/* The first 16 redacted values of the event. If they occur again in the
	 * result of a match spec, inv_redact_result redacts them there, too.
	 * n_hidden counts all redacted values, so it can be larger than 16. */
	struct inv_redact_hidden {
		const uint8_t *p;
		size_t len;
	} hidden[16];
	unsigned n_hidden;
	bool in_result;
};

/* Copies the next term. Returns 0, or INV_EDAMAGED. */
int inv_redact_term(struct inv_redact_copy *x, enum inv_redact_how how);

/* Copies the next term, which is the result of a match spec. Call this after
 * the event's other terms were copied: a value that was redacted in them is
 * also redacted in the result. */
int inv_redact_result(struct inv_redact_copy *x);

/*
 * Copies the next term, {M,F,Args} or {M,F,Arity}. Sets *call to the parts
 * that the rules redact in calls of the function.
 */
int inv_redact_mfa_term(struct inv_redact_copy *x,
			struct inv_redact_call *call);

/* If the next term is a tuple of n elements, copies its code and its arity,
 * moves to the first element, and returns true. */
bool inv_redact_open_tuple(struct inv_redact_copy *x, uint32_t n);

#endif
