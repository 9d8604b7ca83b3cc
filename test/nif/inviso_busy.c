/* SPDX-License-Identifier: Apache-2.0 */
/* Implements wait/1 of test/ct/inviso_busy.erl, which keeps its scheduler
 * busy. */
#include <erl_nif.h>
#include <time.h>

static ERL_NIF_TERM wait(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct timespec t = { 0 };
	unsigned ms;

	(void)argc;
	if (!enif_get_uint(env, argv[0], &ms) || ms >= 1000)
		return enif_make_badarg(env);
	t.tv_nsec = (long)ms * 1000000;
	(void)nanosleep(&t, NULL);
	return enif_make_atom(env, "ok");
}

static ErlNifFunc functions[] = {
	{ "wait", 1, wait, 0 },
};

ERL_NIF_INIT(inviso_busy, functions, NULL, NULL, NULL, NULL)
