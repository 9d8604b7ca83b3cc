/* SPDX-License-Identifier: Apache-2.0 */
/* A tracer module other than inviso's: its state is a pid, to which it sends
 * {told, Tag, Tracee}. */
#include <erl_nif.h>

static ERL_NIF_TERM enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	(void)argc;
	(void)argv;
	return enif_make_atom(env, "trace");
}

static ERL_NIF_TERM trace(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	ErlNifPid pid;

	(void)argc;
	if (enif_get_local_pid(env, argv[1], &pid))
		(void)enif_send(env, &pid, NULL,
				enif_make_tuple3(env,
						 enif_make_atom(env, "told"),
						 argv[0], argv[2]));
	return enif_make_atom(env, "ok");
}

static ErlNifFunc functions[] = {
	{ "enabled", 3, enabled, 0 },
	{ "trace", 5, trace, 0 },
};

ERL_NIF_INIT(told_tracer, functions, NULL, NULL, NULL, NULL)
