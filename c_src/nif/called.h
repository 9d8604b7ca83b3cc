/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_CALLED_H
#define INV_NIF_CALLED_H

#include <erl_nif.h>
#include <stdbool.h>

#include "nif/small.h"
#include "vm/open_function.h"

/* Reads {M, F, Arguments} or {M, F, Arity}, the content of a call or of its
 * end. *args is the list or the arity. Returns false for any other term. */
static inline bool inv_called_read(ErlNifEnv *env, ERL_NIF_TERM term,
				   struct inv_called *f, ERL_NIF_TERM *args)
{
	const ERL_NIF_TERM *e;
	unsigned arity;
	int n;

	if (!enif_get_tuple(env, term, &n, &e) || n != 3 ||
	    (!inv_small_get(e[2], &arity) &&
	     !enif_get_list_length(env, e[2], &arity) &&
	     !enif_get_uint(env, e[2], &arity)))
		return false;
	*f = (struct inv_called){ e[0], e[1], arity };
	*args = e[2];
	return true;
}

#endif
