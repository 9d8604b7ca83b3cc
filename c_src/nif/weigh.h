/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_WEIGH_H
#define INV_NIF_WEIGH_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What terms will take of a process that gets them in a message, in bytes:
 * the words that are copied, and the binaries that are kept alive.
 *
 * Bounded in time by copy_left: a term that copies more is not walked to its
 * end.  What the public NIF interface cannot bound:
 *   - the environment of a fun counts as INV_WEIGH_FUN, whatever it is;
 *   - a binary that is a part of a larger one counts as the part;
 *   - looking at binaries that do not begin or end on a byte copies them.
 */
#define INV_WEIGH_FUN 256

struct inv_weighing {
	ErlNifEnv *env;
	uint64_t copy_left; /* bytes that may still be copied */
	uint64_t kept;	    /* bytes in binaries that are shared instead */
};

/* Adds a term.  False: it copies too much, or nests too deep to tell. */
bool inv_weigh_term(struct inv_weighing *w, ERL_NIF_TERM term);

#endif
