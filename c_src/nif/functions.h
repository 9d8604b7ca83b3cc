/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_FUNCTIONS_H
#define INV_NIF_FUNCTIONS_H

#include <erl_nif.h>
#include <stdbool.h>

#include "vm/open_function.h"

/*
 * Calls `add' for each pair {F, Arity} in `list', with the function of this
 * name and arity in `module'. `add' returns false if it has no room for the
 * function. Returns for how many functions there was no room, or -1 if `list'
 * is not a list of such pairs.
 */
int inv_functions_each(ErlNifEnv *env, ERL_NIF_TERM module, ERL_NIF_TERM list,
		       bool (*add)(void *arg, const struct inv_called *f),
		       void *arg);

#endif
