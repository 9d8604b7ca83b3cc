/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_OPTIONS_H
#define INV_NIF_OPTIONS_H

#include <erl_nif.h>
#include <stdbool.h>

#include "nif/tracer.h"

/*
 * Reads the options of inviso_tracer:open/2 as inviso_opts:parse/2 returns
 * them.
 *
 * `texts' is the tuple that inviso_tracer:nif_open/2 describes. `numbers' is a
 * map with exactly the keys in options.c, whose values are non-negative
 * integers. Returns false if `texts' or `numbers' has any other form.
 */
bool inv_options_read(ErlNifEnv *env, ERL_NIF_TERM texts, ERL_NIF_TERM numbers,
		      struct inv_tracer_opts *o);

/*
 * Copies a binary to `to', as a text that ends with NUL.  Returns false if the
 * term is not a binary, contains a NUL, or needs more than `size' bytes.
 */
bool inv_options_text(ErlNifEnv *env, ERL_NIF_TERM term, char *to, size_t size);

#endif
