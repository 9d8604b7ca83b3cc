/* SPDX-License-Identifier: Apache-2.0 */
/* A tracer module that records nothing. It shows what an event costs in the
 * VM itself, which is the least that any tracer can cost. */
#include <erl_nif.h>

static ERL_NIF_TERM am_trace;
static ERL_NIF_TERM am_ok;

static ERL_NIF_TERM enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	(void)env;
	(void)argc;
	(void)argv;
	return am_trace;
}

static ERL_NIF_TERM trace(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	(void)env;
	(void)argc;
	(void)argv;
	return am_ok;
}

static int load(ErlNifEnv *env, void **priv, ERL_NIF_TERM info)
{
	(void)priv;
	(void)info;
	am_trace = enif_make_atom(env, "trace");
	am_ok = enif_make_atom(env, "ok");
	return 0;
}

static ErlNifFunc functions[] = {
	{ "enabled", 3, enabled, 0 },
	{ "trace", 5, trace, 0 },
};

ERL_NIF_INIT(empty_tracer, functions, load, NULL, NULL, NULL)
