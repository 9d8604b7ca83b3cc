/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_SMALL_H
#define INV_NIF_SMALL_H

#include <erl_nif.h>
#include <stdbool.h>

#include "base/likely.h"
#include "nif/tracer.h"

/*
 * Reads integers from 0 to 255, such as arities, without a call of the VM. Such
 * an integer is an immediate term, so its word is always the same. A shift of
 * the term's word yields a guess. The table has the word of each integer. The
 * guess is right if the word of the guessed integer is the term's word.
 */
#define INV_SMALL_MAX 256u

extern INV_HIDDEN ERL_NIF_TERM inv_small_words[INV_SMALL_MAX];

/* Call it when the library is loaded. */
void inv_small_init(ErlNifEnv *env);

/* Returns false if the term is not an integer from 0 to 255. */
static inline bool inv_small_get(ERL_NIF_TERM term, unsigned *n)
{
	*n = (unsigned)(term >> INV_SMALL_SHIFT) & (INV_SMALL_MAX - 1);
	return inv_small_words[*n] == term;
}

#endif
