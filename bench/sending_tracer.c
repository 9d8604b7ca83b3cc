/* SPDX-License-Identifier: Apache-2.0 */
/* A tracer module whose state is a list of processes. It sends each event to
 * all of them, and does nothing else, so it shows what the messages cost. */
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
	ERL_NIF_TERM message =
		enif_make_tuple4(env, am_trace, argv[2], argv[0], argv[3]);
	ERL_NIF_TERM left = argv[1];
	ERL_NIF_TERM head;
	ErlNifPid pid;

	(void)argc;
	while (enif_get_list_cell(env, left, &head, &left))
		if (enif_get_local_pid(env, head, &pid))
			(void)enif_send(env, &pid, NULL, message);
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

ERL_NIF_INIT(sending_tracer, functions, load, NULL, NULL, NULL)
