/* SPDX-License-Identifier: Apache-2.0 */
/* The library of the module inviso_engine, for nodes on which inviso is
 * installed. */
#include <erl_nif.h>

#include "engine/event.h"
#include "engine/nif.h"

static int upgrade(ErlNifEnv *env, void **priv, void **old_priv,
		   ERL_NIF_TERM load_info)
{
	(void)old_priv;
	return inv_engine_load(env, priv, load_info);
}

static ErlNifFunc functions[] = {
	{ "enabled", 3, inv_engine_enabled, 0 },
	{ "trace", 5, inv_engine_trace, 0 },
	INV_ENGINE_FUNCTIONS(""),
};

/*
 * The library must load on the oldest supported release, even if it was
 * compiled with the header of a newer release. So it uses only functions that
 * the oldest release has.
 */
#undef ERL_NIF_MINOR_VERSION
#define ERL_NIF_MINOR_VERSION 16
#undef ERL_NIF_MIN_ERTS_VERSION
#define ERL_NIF_MIN_ERTS_VERSION "erts-13.0"

ERL_NIF_INIT(inviso_engine, functions, inv_engine_load, NULL, upgrade,
	     inv_engine_unload)
