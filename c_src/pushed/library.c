/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library of the module inviso_tracer on a node to which a command has sent
 * inviso's code. On such a node, the module also has the functions of
 * inviso_engine, so that the node unloads one module and not two
 * (docs/decisions/0513). The tracer that the VM calls is {inviso_tracer,
 * State}. State says whether the event is for the engine or for a tracer of
 * inviso_tracer.
 */
#include <erl_nif.h>
#include <stdbool.h>

#include "engine/event.h"
#include "engine/nif.h"
#include "nif/event.h"
#include "nif/nif.h"

/*
 * The two values of State that mean the engine. For a tracer, State is its
 * handle, which is larger than both (nif/tracer.h). All these values are
 * immediate terms, so they can be compared as words.
 */
static ERL_NIF_TERM engine;
static ERL_NIF_TERM engine_meta;

static bool is_engine(ERL_NIF_TERM state)
{
	return state == engine || state == engine_meta;
}

static ERL_NIF_TERM enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	return is_engine(argv[1]) ? inv_engine_enabled(env, argc, argv) :
				    inv_event_enabled(env, argc, argv);
}

static ERL_NIF_TERM trace(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	return is_engine(argv[1]) ? inv_engine_trace(env, argc, argv) :
				    inv_event_trace(env, argc, argv);
}

/* nif/nif.h describes load_info. */
static int load(ErlNifEnv *env, void **priv, ERL_NIF_TERM load_info)
{
	const ERL_NIF_TERM *info;
	int arity;

	if (inv_nif_load(env, priv, load_info) != 0)
		return -1;
	engine = enif_make_uint(env, 0);
	engine_meta = enif_make_uint(env, INV_ENGINE_META);
	if (enif_get_tuple(env, load_info, &arity, &info) &&
	    inv_engine_load(env, priv, info[2]) == 0)
		return 0;
	inv_nif_unload(env, *priv);
	return -1;
}

static int upgrade(ErlNifEnv *env, void **priv, void **old_priv,
		   ERL_NIF_TERM load_info)
{
	(void)old_priv;
	return load(env, priv, load_info);
}

static void unload(ErlNifEnv *env, void *priv)
{
	inv_engine_unload(env, priv);
	inv_nif_unload(env, priv);
}

static ErlNifFunc functions[] = {
	{ "enabled", 3, enabled, 0 },
	{ "trace", 5, trace, 0 },
	INV_NIF_FUNCTIONS,
	INV_ENGINE_FUNCTIONS("inviso_engine:"),
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

ERL_NIF_INIT(inviso_tracer, functions, load, NULL, upgrade, unload)
