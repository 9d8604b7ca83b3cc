/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_ENCODE_H
#define INV_NIF_ENCODE_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "nif/dict.h"
#include "nif/fresh.h"

/*
 * Writes terms as packed terms (abi/term.h) between two pointers that move
 * towards each other: terms upwards from p, definitions downwards from top.
 *
 * Time and size are bounded. A term takes at most max_bytes, including its
 * definitions, plus a few bytes for each container that is open when these
 * bytes are used up. If more_binary is not 0, the contents of the term's
 * binaries do not count, but take at most more_binary bytes together. At most
 * max_depth containers are nested. A CUT or HOLE replaces what exceeds these
 * bounds, and `cut' is set.
 *
 * The public NIF interface has no bounded way to read these terms:
 *   - a binary that does not start on a byte: enif_inspect_binary copies it
 *     whole;
 *   - a bitstring that does not end on a byte: enif_term_to_binary copies it
 *     whole, and no other function returns its bits;
 *   - a map of more than 32 keys: its iterator allocates a small stack.
 */
#define INV_ENCODE_DEPTH 128

/* Keeps rare code away from the code that most events run. */
#define INV_COLD __attribute__((cold, noinline))

/* For how many redacted values of an event the result of its match spec is
 * searched. If there are more, all data in the result are redacted. */
#define INV_ENCODE_MARKED 16

struct inv_redaction;

struct inv_encoder {
	ErlNifEnv *env;
	struct inv_packet_dict
		*dict;		 /* NULL: the terms are kept (nif/kept.h) */
	struct inv_fresh *fresh; /* gets processes of this node; NULL: not
				    needed */
	uint8_t *p;
	uint8_t *top;
	uint8_t *limit;	    /* end of the current term's budget; p may exceed
			       `limit', and each definition lowers `limit' */
	uint32_t max_bytes; /* the budget of one term */
	uint32_t
		more_binary; /* 0, or the budget of one term for the contents of
				 binaries */
	uint32_t binary_left; /* the rest of it for the current term */
	uint32_t max_depth;   /* 1 .. INV_ENCODE_DEPTH */
	uint32_t looks;	      /* list cells that the encoder may still visit
			       without writing them */
	uint32_t checks;      /* cells and pairs that rules may still visit */
	bool cut;
	uint32_t kept_node; /* kept terms: the last node that was written */
	struct inv_redaction *redaction; /* rules (nif/redact.h); NULL: none */
	uint32_t redacted;		 /* how many marks were written */
	bool in_result; /* writes the result of a match spec, in which redacted
			   values of the event can be */
	uint32_t n_marked; /* can be more than INV_ENCODE_MARKED */
	ERL_NIF_TERM marked[INV_ENCODE_MARKED]; /* the first redacted values */
};

/* Call it when the library is loaded. */
void inv_encode_init(ErlNifEnv *env);

/*
 * Appends one term. Returns false if the space between p and top is not enough;
 * p, top and the dictionary are then invalid.
 */
bool inv_encode_term(struct inv_encoder *e, ERL_NIF_TERM term);

/*
 * Like inv_encode_term, for a term that is usually {M, F, Args} or {M, F,
 * Arity}: such a term is written as a dictionary entry. If with_args is false,
 * {M, F, Args} is written as {M, F, Arity}; if Args cannot be the arguments of a
 * function, a HOLE replaces them.
 */
bool inv_encode_function(struct inv_encoder *e, ERL_NIF_TERM term,
			 bool with_args);

/*
 * These functions write a call in two steps. inv_encode_args appends the
 * arguments of `mfa', {M, F, Args}, without the function: the list `args' of
 * length `arity'. If `args' is an arity, it sets *has_args to false and writes
 * nothing. The budget is that of a term. inv_encode_called appends the function with this
 * arity; the arguments can follow.
 */
bool inv_encode_args(struct inv_encoder *e, ERL_NIF_TERM mfa, ERL_NIF_TERM args,
		     unsigned arity, bool *has_args);
bool inv_encode_called(struct inv_encoder *e, ERL_NIF_TERM module,
		       ERL_NIF_TERM function, uint32_t arity, bool with_args);

/* Writes the result of a match spec. Call this after the event's other terms
 * were written: values that were redacted in them are redacted in the result,
 * too. */
bool inv_encode_result(struct inv_encoder *e, ERL_NIF_TERM value);

/* Like inv_encode_term, for a term to which the rules do not apply, such as a
 * process. */
bool inv_encode_plain(struct inv_encoder *e, ERL_NIF_TERM term);

/* Appends the shape of a term (inv_redact_reason), whatever the rules say. */
bool inv_encode_shape(struct inv_encoder *e, ERL_NIF_TERM term);

/* Append parts of a term that the caller composes. */
bool inv_encode_tuple(struct inv_encoder *e, uint32_t arity);
bool inv_encode_hole(struct inv_encoder *e);

#endif
