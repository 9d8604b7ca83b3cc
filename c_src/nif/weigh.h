/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_WEIGH_H
#define INV_NIF_WEIGH_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Computes how many bytes of memory terms take in a process that receives them
 * in a message: the words that are copied, and the binaries that are kept
 * alive.
 *
 * copy_left bounds the time: the walk over a term ends when more than copy_left
 * bytes would be copied.  The public NIF interface has limits:
 *   - the environment of a fun always counts as INV_WEIGH_FUN bytes;
 *   - if a binary is a part of a larger binary, only the part counts, although
 *     the larger binary is kept alive;
 *   - to read the size of a bitstring that does not begin or end at a byte
 *     boundary, the interface copies the bitstring, which takes time.
 */
#define INV_WEIGH_FUN 256

struct inv_weighing {
	ErlNifEnv *env;
	uint64_t copy_left; /* bytes that may still be copied */
	uint64_t kept;	    /* bytes in binaries that are shared, not copied */
};

/* Adds the memory of a term. Returns false if more than copy_left bytes would
 * be copied, or the term is nested too deeply. */
bool inv_weigh_term(struct inv_weighing *w, ERL_NIF_TERM term);

#endif
