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
 * definitions, plus a few bytes for each list, tuple or map that is not
 * complete when these bytes are used up. If more_binary is not 0, the contents
 * of the term's binaries have a separate budget of more_binary bytes. At most
 * max_depth lists, tuples and maps are nested. A CUT or HOLE (abi/term.h)
 * replaces what exceeds these bounds, and `cut' is set.
 *
 * The public NIF interface has no bounded way to read these terms:
 *   - a binary that does not start on a byte: enif_inspect_binary copies it
 *     whole;
 *   - a bitstring that does not end on a byte: enif_term_to_binary copies it
 *     whole, and no other function returns its bits;
 *   - a map of more than 32 keys: its iterator allocates a small stack.
 */
#define INV_ENCODE_DEPTH 128

/* For rare functions: the compiler puts them apart from the code that most
 * events run. */
#define INV_COLD __attribute__((cold, noinline))

/* The result of a match spec can repeat redacted values of the event. The
 * encoder remembers this many of them and redacts them in the result. If the
 * event has more redacted values, the whole result is redacted. */
#define INV_ENCODE_MARKED 16

struct inv_redaction;

struct inv_encoder {
	ErlNifEnv *env;
	struct inv_packet_dict *dict; /* NULL: writes kept terms (nif/kept.h) */
	struct inv_fresh *fresh; /* gets the processes of this node that the
				    encoder writes; NULL: not needed */
	uint8_t *p;
	uint8_t *top;
	uint8_t *limit;	    /* the value of p at which the current term's budget
			       is used up; each definition lowers it, and p may
			       exceed it */
	uint32_t max_bytes; /* the budget of one term */
	uint32_t
		more_binary; /* 0, or the budget of one term for the contents of
				 binaries */
	uint32_t binary_left; /* how much of more_binary the current term has
				 left */
	uint32_t max_depth;   /* 1 .. INV_ENCODE_DEPTH */
	uint32_t looks;	      /* how many list cells the encoder may still visit
				 without writing them */
	uint32_t checks;      /* how many list cells and map pairs redaction may
				 still visit */
	bool cut;	      /* a CUT or HOLE was written */
	uint32_t kept_node;   /* for kept terms (nif/kept.h): the node whose
				 definition was written last */
	struct inv_redaction *redaction; /* rules (nif/redact.h); NULL: none */
	uint32_t redacted;		 /* how many marks were written */
	bool in_result;	   /* the encoder is writing the result of a match spec,
			   which can repeat redacted values of the event */
	uint32_t n_marked; /* how many values were redacted; can be more than
			      INV_ENCODE_MARKED */
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
 * Like inv_encode_term, but writes {M, F, Args} and {M, F, Arity} with the
 * function as one dictionary entry. If with_args is false, {M, F, Args} is
 * written as {M, F, Arity}. Then, if Args is a list that cannot be the
 * arguments of a function (improper, or too long), a HOLE replaces it.
 */
bool inv_encode_function(struct inv_encoder *e, ERL_NIF_TERM term,
			 bool with_args);

/*
 * These functions write a call in two steps. inv_encode_args appends the
 * arguments of the call `mfa' without the function: the list `args' of length
 * `arity', within the budget of one term. It sets *has_args to false and writes
 * nothing if `args' is the arity, if there are more than 255 arguments, or if
 * max_depth is less than 2. inv_encode_called appends the function; if
 * with_args is true, the caller appends the arguments after it.
 */
bool inv_encode_args(struct inv_encoder *e, ERL_NIF_TERM mfa, ERL_NIF_TERM args,
		     unsigned arity, bool *has_args);
bool inv_encode_called(struct inv_encoder *e, ERL_NIF_TERM module,
		       ERL_NIF_TERM function, uint32_t arity, bool with_args);

/* Writes the result of a match spec. Call it after the event's other terms: a
 * value that was redacted in one of them is redacted in the result, too. */
bool inv_encode_result(struct inv_encoder *e, ERL_NIF_TERM value);

/* Like inv_encode_term, for a term to which the redaction rules do not apply,
 * such as a pid. */
bool inv_encode_plain(struct inv_encoder *e, ERL_NIF_TERM term);

/* Appends the shape of a term: a mark replaces each number, binary, string and
 * atom, even if no rule redacts it. The VM's own reasons of exceptions remain
 * (inv_redact_reason). */
bool inv_encode_shape(struct inv_encoder *e, ERL_NIF_TERM term);

/* For a term that the caller writes in parts: these append the head of a tuple,
 * and a HOLE in place of a term. */
bool inv_encode_tuple(struct inv_encoder *e, uint32_t arity);
bool inv_encode_hole(struct inv_encoder *e);

#endif
