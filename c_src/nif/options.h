/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_OPTIONS_H
#define INV_NIF_OPTIONS_H

#include <erl_nif.h>
#include <stdbool.h>

#include "nif/tracer.h"

/*
 * What inviso_opts:parse/2 made of the options of open/2.
 *
 * texts: a tuple, see inviso_tracer:nif_open/2.  numbers: a map of exactly the
 * keys in options.c, each an integer from 0.  False: it is not so.
 */
bool inv_options_read(ErlNifEnv *env, ERL_NIF_TERM texts, ERL_NIF_TERM numbers,
		      struct inv_tracer_opts *o);

/* A binary as a text, with its NUL.  False: it is none, has a NUL or is too
 * long. */
bool inv_options_text(ErlNifEnv *env, ERL_NIF_TERM term, char *to, size_t size);

#endif
