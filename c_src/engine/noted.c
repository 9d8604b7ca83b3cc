/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/noted.h"

#include <stddef.h>

#include "engine/lost.h"
#include "engine/note.h"

static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_none;
static ERL_NIF_TERM am_true;

void inv_noted_init(ErlNifEnv *env)
{
	am_false = enif_make_atom(env, "false");
	am_none = enif_make_atom(env, "none");
	am_true = enif_make_atom(env, "true");
}

uint32_t inv_noted_sessions(ErlNifEnv *env, ERL_NIF_TERM call)
{
	const struct inv_note *note;
	const ERL_NIF_TERM *mfa;
	unsigned arity;
	int n;

	if (!enif_get_tuple(env, call, &n, &mfa) || n != 3 ||
	    !enif_get_list_length(env, mfa[2], &arity))
		return 0;
	note = inv_note_find(mfa[0], mfa[1], arity);
	return note ? atomic_load_explicit(&note->sessions,
					   memory_order_acquire) :
		      0;
}

typedef struct inv_note *place(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity);

static struct inv_note *argument(ErlNifEnv *env, const ERL_NIF_TERM argv[],
				 place *of)
{
	unsigned arity;

	if (!enif_is_atom(env, argv[0]) || !enif_is_atom(env, argv[1]) ||
	    !enif_get_uint(env, argv[2], &arity))
		return NULL;
	return of(argv[0], argv[1], arity);
}

ERL_NIF_TERM inv_noted_room(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	(void)argc;
	return argument(env, argv, inv_note_make) ? am_true : am_false;
}

ERL_NIF_TERM inv_noted_plain(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	struct inv_note *n = argument(env, argv, inv_note_find);
	unsigned sessions = 0;
	uint32_t before;
	bool was_plain;

	(void)argc;
	if (!n)
		return am_none;
	was_plain = atomic_exchange(&n->plain,
				    enif_get_uint(env, argv[3], &sessions));
	before = atomic_exchange(&n->sessions, sessions);
	return was_plain ? enif_make_uint(env, before) : am_none;
}

ERL_NIF_TERM inv_noted_is_plain(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	const struct inv_note *n = argument(env, argv, inv_note_find);

	(void)argc;
	return n && atomic_load(&n->plain) ? am_true : am_false;
}

ERL_NIF_TERM inv_noted_count(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	unsigned counters;
	struct inv_note *n;

	(void)argc;
	if (!enif_get_uint(env, argv[3], &counters))
		return enif_make_badarg(env);
	n = argument(env, argv, counters ? inv_note_make : inv_note_find);
	if (!n && counters)
		inv_shortage(INV_SHORTAGE_NOTE);
	return enif_make_uint(env,
			      n ? atomic_exchange(&n->counters, counters) : 0);
}

ERL_NIF_TERM inv_noted_counted(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	const struct inv_note *n = argument(env, argv, inv_note_find);

	(void)argc;
	return enif_make_uint(env, n ? atomic_load(&n->counters) : 0);
}
