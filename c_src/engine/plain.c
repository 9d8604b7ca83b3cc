/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/plain.h"

#include <stdatomic.h>
#include <stddef.h>

#include "engine/session.h"

/* Open addressing, never full, never cleared of a function's place. */
#define PLACES 131072
#define NOTED_MAX 65536

struct function {
	ERL_NIF_TERM module;
	ERL_NIF_TERM name;
	unsigned arity;
	bool plain;
};

static _Atomic uint32_t session;
static struct function functions[PLACES];
static size_t noted;

static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_ok;
static ERL_NIF_TERM am_true;

void inv_plain_init(ErlNifEnv *env)
{
	am_false = enif_make_atom(env, "false");
	am_ok = enif_make_atom(env, "ok");
	am_true = enif_make_atom(env, "true");
}

uint32_t inv_plain_session(void)
{
	return atomic_load_explicit(&session, memory_order_relaxed);
}

ERL_NIF_TERM inv_plain_choose(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	uint32_t slot;

	(void)argc;
	if (!enif_get_uint(env, argv[0], &slot))
		atomic_store(&session, 0);
	else if (slot < INV_SESSIONS_MAX)
		atomic_store(&session, UINT32_C(1) << slot);
	else
		return enif_make_badarg(env);
	return am_ok;
}

/* Its place, or the free one that could be. */
static struct function *place(ERL_NIF_TERM module, ERL_NIF_TERM name,
			      unsigned arity)
{
	uint64_t hash = (module * 31 + name) * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(hash >> 40) + arity;

	for (;; at++) {
		struct function *f = &functions[at % PLACES];

		if (f->module == 0 || (f->module == module && f->name == name &&
				       f->arity == arity))
			return f;
	}
}

static struct function *get_place(ErlNifEnv *env, const ERL_NIF_TERM argv[])
{
	unsigned arity;

	if (!enif_is_atom(env, argv[0]) || !enif_is_atom(env, argv[1]) ||
	    !enif_get_uint(env, argv[2], &arity))
		return NULL;
	return place(argv[0], argv[1], arity);
}

ERL_NIF_TERM inv_plain_note(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct function *f = get_place(env, argv);

	(void)argc;
	if (!f)
		return enif_make_badarg(env);
	if (f->module == 0) {
		if (argv[3] != am_true)
			return am_true;
		if (noted == NOTED_MAX)
			return am_false;
		noted++;
		f->module = argv[0];
		f->name = argv[1];
		(void)enif_get_uint(env, argv[2], &f->arity);
	}
	f->plain = argv[3] == am_true;
	return am_true;
}

ERL_NIF_TERM inv_plain_is(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	const struct function *f = get_place(env, argv);

	(void)argc;
	return f && f->module != 0 && f->plain ? am_true : am_false;
}
