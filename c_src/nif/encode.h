/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_ENCODE_H
#define INV_NIF_ENCODE_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "nif/dict.h"

/*
 * Writes terms as packed terms (abi/term.h) between two boundaries that grow
 * towards each other: terms upwards from p, definitions downwards from top.
 *
 * Bounded in time and bytes: a term takes at most max_bytes (definitions of
 * what it names included) and some bytes for each container that is open when
 * they are used up, and at most max_depth containers are nested.  What is
 * beyond is cut, in place, and cut is set.
 *
 * What the public NIF interface cannot bound, and why it is used all the same:
 *   - a binary that does not start on a byte is copied whole by the VM when it
 *     is looked at (enif_inspect_binary);
 *   - a bitstring that does not end on a byte is copied whole
 *     (enif_term_to_binary): nothing else tells its bits;
 *   - maps of more than 32 keys: their iterator allocates a small stack.
 */
#define INV_ENCODE_DEPTH 128

/* Out of the way of the code that most events take. */
#define INV_COLD __attribute__((cold, noinline))

struct inv_encoder {
	ErlNifEnv *env;
	struct inv_packet_dict *dict;
	uint8_t *p;
	uint8_t *top;
	uint8_t *limit;	    /* where the budget of the term at hand ends; p may
			       go beyond, and a definition moves it down */
	uint32_t max_bytes; /* of one term */
	uint32_t max_depth; /* 1 .. INV_ENCODE_DEPTH */
	uint32_t looks;	    /* cells it may still look at without writing */
	bool cut;
};

/* When the library is loaded. */
void inv_encode_init(ErlNifEnv *env);

/*
 * Appends one term.  False when the room between p and top does not suffice:
 * p, top and the dictionary are then of no use any more.
 */
bool inv_encode_term(struct inv_encoder *e, ERL_NIF_TERM term);

/* Appends the parts of terms that an event puts together itself. */
bool inv_encode_tuple(struct inv_encoder *e, uint32_t arity);
bool inv_encode_uint(struct inv_encoder *e, uint32_t value);
bool inv_encode_hole(struct inv_encoder *e);

#endif
