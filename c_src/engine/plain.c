/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/plain.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Open addressing; a function has its place for good. */
#define PLACES 131072
#define FUNCTIONS_MAX (PLACES / 2)
#define PROBES 64

struct function {
	_Atomic ERL_NIF_TERM module; /* 0: free; the last that is written */
	ERL_NIF_TERM name;
	unsigned arity;
	_Atomic uint32_t sessions;
	bool plain;
};

static struct function functions[PLACES];
static size_t used;

static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_none;
static ERL_NIF_TERM am_true;

void inv_plain_init(ErlNifEnv *env)
{
	am_false = enif_make_atom(env, "false");
	am_none = enif_make_atom(env, "none");
	am_true = enif_make_atom(env, "true");
}

/* Its place, or the free one that could be; NULL: neither. */
static struct function *find(ERL_NIF_TERM module, ERL_NIF_TERM name,
			     unsigned arity)
{
	uint64_t hash = (module * 31 + name) * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(hash >> 40) + arity;
	int left;

	for (left = PROBES; left > 0; left--, at++) {
		struct function *f = &functions[at % PLACES];
		ERL_NIF_TERM there =
			atomic_load_explicit(&f->module, memory_order_acquire);

		if (there == 0 ||
		    (there == module && f->name == name && f->arity == arity))
			return f;
	}
	return NULL;
}

static bool is_used(const struct function *f)
{
	return f && atomic_load_explicit(&f->module, memory_order_relaxed) != 0;
}

uint32_t inv_plain_sessions(ErlNifEnv *env, ERL_NIF_TERM call)
{
	const struct function *f;
	const ERL_NIF_TERM *mfa;
	unsigned arity;
	int n;

	if (!enif_get_tuple(env, call, &n, &mfa) || n != 3 ||
	    !enif_get_list_length(env, mfa[2], &arity))
		return 0;
	f = find(mfa[0], mfa[1], arity);
	return f ? atomic_load_explicit(&f->sessions, memory_order_acquire) : 0;
}

void inv_plain_clear(void)
{
	size_t i;

	for (i = 0; i < PLACES && used != 0; i++)
		if (is_used(&functions[i]))
			atomic_store(&functions[i].sessions, 0);
}

static struct function *argument(ErlNifEnv *env, const ERL_NIF_TERM argv[])
{
	unsigned arity;

	if (!enif_is_atom(env, argv[0]) || !enif_is_atom(env, argv[1]) ||
	    !enif_get_uint(env, argv[2], &arity))
		return NULL;
	return find(argv[0], argv[1], arity);
}

ERL_NIF_TERM inv_plain_room(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct function *f = argument(env, argv);

	(void)argc;
	if (is_used(f))
		return am_true;
	if (!f || used == FUNCTIONS_MAX)
		return am_false;
	used++;
	f->name = argv[1];
	(void)enif_get_uint(env, argv[2], &f->arity);
	atomic_store_explicit(&f->module, argv[0], memory_order_release);
	return am_true;
}

ERL_NIF_TERM inv_plain_note(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	struct function *f = argument(env, argv);
	unsigned sessions = 0;
	uint32_t before;
	bool was_plain;

	(void)argc;
	if (!is_used(f))
		return am_none;
	was_plain = f->plain;
	f->plain = enif_get_uint(env, argv[3], &sessions);
	before = atomic_exchange(&f->sessions, sessions);
	return was_plain ? enif_make_uint(env, before) : am_none;
}

ERL_NIF_TERM inv_plain_is(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	const struct function *f = argument(env, argv);

	(void)argc;
	return is_used(f) && f->plain ? am_true : am_false;
}
