/* SPDX-License-Identifier: Apache-2.0 */
/* The library of the module inviso_tracer, for nodes on which inviso is
 * installed. */
#include <erl_nif.h>

#include "nif/event.h"
#include "nif/nif.h"

static int upgrade(ErlNifEnv *env, void **priv, void **old_priv,
		   ERL_NIF_TERM load_info)
{
	(void)old_priv;
	return inv_nif_load(env, priv, load_info);
}

static ErlNifFunc functions[] = {
	{ "enabled", 3, inv_event_enabled, 0 },
	{ "trace", 5, inv_event_trace, 0 },
	INV_NIF_FUNCTIONS,
};

/*
 * The library must load on the oldest supported release, even if it was
 * compiled with the header of a newer one. So it uses only functions that the
 * oldest release has.
 */
#undef ERL_NIF_MINOR_VERSION
#define ERL_NIF_MINOR_VERSION 16
#undef ERL_NIF_MIN_ERTS_VERSION
#define ERL_NIF_MIN_ERTS_VERSION "erts-13.0"

ERL_NIF_INIT(inviso_tracer, functions, inv_nif_load, NULL, upgrade,
	     inv_nif_unload)
