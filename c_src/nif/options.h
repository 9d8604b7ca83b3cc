/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_OPTIONS_H
#define INV_NIF_OPTIONS_H

#include <erl_nif.h>
#include <stdbool.h>

#include "nif/tracer.h"

/*
 * Reads the options of open/2 as inviso_opts:parse/2 returns them.
 *
 * `texts' is a tuple, see inviso_tracer:nif_open/2. `numbers' is a map with
 * exactly the keys in options.c, whose values are non-negative integers.
 * Returns false if `texts' or `numbers' has any other form.
 */
bool inv_options_read(ErlNifEnv *env, ERL_NIF_TERM texts, ERL_NIF_TERM numbers,
		      struct inv_tracer_opts *o);

/*
 * Reads a binary as a NUL-terminated text.  Returns false if it is not a
 * binary, has a NUL or is too long.
 */
bool inv_options_text(ErlNifEnv *env, ERL_NIF_TERM term, char *to, size_t size);

#endif
