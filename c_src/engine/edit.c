/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/edit.h"

#include <stdbool.h>
#include <stdint.h>

#include "engine/lost.h"
#include "engine/profile.h"
#include "engine/session.h"
#include "engine/tracee.h"

/* Two bounds for the time of one call of a NIF: changed/1 returns at most
 * CHANGED_MAX processes, and vacate/2 clears at most VACATED_MAX entries. */
#define CHANGED_MAX 64
#define VACATED_MAX 32768

static ERL_NIF_TERM am_full;
static ERL_NIF_TERM am_ok;
static ERL_NIF_TERM am_true;
static ERL_NIF_TERM am_unknown;
static ERL_NIF_TERM am_new[INV_NEWS];

void inv_engine_edit_init(ErlNifEnv *env)
{
	am_full = enif_make_atom(env, "full");
	am_ok = enif_make_atom(env, "ok");
	am_true = enif_make_atom(env, "true");
	am_unknown = enif_make_atom(env, "unknown");
	am_new[INV_NEW_PROCESSES] = enif_make_atom(env, "new_processes");
	am_new[INV_NEW_PORTS] = enif_make_atom(env, "new_ports");
}

/* Returns which kind of future tracees the atom means, or INV_NEWS if the term
 * is neither new_processes nor new_ports. */
static enum inv_new what_new(ERL_NIF_TERM tracee)
{
	unsigned what = 0;

	while (what < INV_NEWS && tracee != am_new[what])
		what++;
	return what;
}

static bool is_tracee(ErlNifEnv *env, ERL_NIF_TERM term)
{
	ErlNifPid pid;
	ErlNifPort port;

	return enif_get_local_pid(env, term, &pid) ||
	       enif_get_local_port(env, term, &port);
}

static bool get_slot(ErlNifEnv *env, ERL_NIF_TERM term, uint32_t *slot)
{
	return enif_get_uint(env, term, slot) && *slot < INV_PROFILE_SESSIONS;
}

static bool get_profile(ErlNifEnv *env, ERL_NIF_TERM term,
			const struct inv_profile **p)
{
	uint32_t number;

	if (!enif_get_uint(env, term, &number) || number >= INV_PROFILES_MAX)
		return false;
	*p = inv_profile_at(number);
	return true;
}

static bool get_edit(ErlNifEnv *env, const ERL_NIF_TERM argv[],
		     struct inv_edit *e)
{
	uint32_t tracer;

	if (!get_slot(env, argv[0], &e->slot) ||
	    !enif_get_uint(env, argv[1], &e->clear) ||
	    !enif_get_uint(env, argv[2], &e->set) ||
	    !enif_get_uint(env, argv[3], &tracer) || tracer > UINT16_MAX)
		return false;
	e->tracer = (uint16_t)tracer;
	return true;
}

static uint32_t edit_new(enum inv_new what, const struct inv_edit *e)
{
	uint32_t to = inv_profile_edit(inv_profile_of_new(what), e);

	if (to != INV_PROFILE_NONE)
		inv_profile_set_new(what, to);
	return to;
}

ERL_NIF_TERM inv_engine_edit(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	enum inv_new what = what_new(argv[0]);
	struct inv_edit e;
	uint32_t number;

	(void)argc;
	if ((what == INV_NEWS && !is_tracee(env, argv[0])) ||
	    !get_edit(env, argv + 1, &e))
		return enif_make_badarg(env);
	number = what == INV_NEWS ? inv_tracee_edit(argv[0], &e) :
				    edit_new(what, &e);
	return number == INV_PROFILE_NONE ? am_full :
					    enif_make_uint(env, number);
}

ERL_NIF_TERM inv_engine_profile_of(ErlNifEnv *env, int argc,
				   const ERL_NIF_TERM argv[])
{
	enum inv_new what = what_new(argv[0]);

	(void)argc;
	if (what == INV_NEWS && !is_tracee(env, argv[0]))
		return enif_make_badarg(env);
	return enif_make_uint(env, what == INV_NEWS ?
					   inv_tracee_profile_of(argv[0]) :
					   inv_profile_of_new(what));
}

ERL_NIF_TERM inv_engine_timed(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	uint32_t timed;
	uint32_t calls;

	if (!is_tracee(env, argv[0]) ||
	    (argc == 2 && !enif_get_uint(env, argv[1], &timed)))
		return enif_make_badarg(env);
	if (argc == 2) {
		(void)inv_tracee_set_timed(argv[0], timed);
		return am_ok;
	}
	if (!inv_tracee_timed(argv[0], &timed, &calls))
		return am_unknown;
	return enif_make_tuple2(env, enif_make_uint(env, timed),
				enif_make_uint(env, calls));
}

ERL_NIF_TERM inv_engine_expected(ErlNifEnv *env, int argc,
				 const ERL_NIF_TERM argv[])
{
	(void)argc;
	if (!is_tracee(env, argv[0]))
		return enif_make_badarg(env);
	return enif_make_uint(env, inv_tracee_expected(argv[0]));
}

ERL_NIF_TERM inv_engine_changed(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM ids[CHANGED_MAX];
	uint32_t max;

	(void)argc;
	if (!enif_get_uint(env, argv[0], &max) || max == 0 || max > CHANGED_MAX)
		return enif_make_badarg(env);
	return enif_make_list_from_array(env, ids,
					 inv_tracees_take_marked(ids, max));
}

ERL_NIF_TERM inv_engine_vacate(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	ErlNifUInt64 from;
	uint32_t slot;

	(void)argc;
	if (!get_slot(env, argv[0], &slot) ||
	    !enif_get_uint64(env, argv[1], &from))
		return enif_make_badarg(env);
	return enif_make_uint64(env,
				inv_tracees_vacate(slot, from, VACATED_MAX));
}

ERL_NIF_TERM inv_engine_know(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	(void)argc;
	if (!is_tracee(env, argv[0]))
		return enif_make_badarg(env);
	(void)inv_tracee_get(argv[0]);
	return am_ok;
}

ERL_NIF_TERM inv_engine_unknown(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	enum inv_new what = what_new(argv[0]);
	uint32_t number;

	if (what == INV_NEWS)
		return enif_make_badarg(env);
	if (argc == 1)
		return enif_make_uint(env, inv_tracees_unknown(what));
	if (!enif_get_uint(env, argv[1], &number) || number >= INV_PROFILES_MAX)
		return enif_make_badarg(env);
	inv_tracees_set_unknown(what, number);
	return am_ok;
}

ERL_NIF_TERM inv_engine_masks(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM mask[INV_FLAGS + 1];
	const struct inv_profile *p;
	unsigned f;

	(void)argc;
	if (!get_profile(env, argv[0], &p))
		return enif_make_badarg(env);
	for (f = 0; f < INV_FLAGS; f++)
		mask[f] = enif_make_uint(env, p->sessions[f]);
	mask[f] = enif_make_uint(env, p->sessions[INV_FLAG_USED_UP]);
	return enif_make_tuple_from_array(env, mask, INV_FLAGS + 1);
}

ERL_NIF_TERM inv_engine_tracer_of(ErlNifEnv *env, int argc,
				  const ERL_NIF_TERM argv[])
{
	const struct inv_profile *p;
	uint32_t slot;

	(void)argc;
	if (!get_profile(env, argv[0], &p) || !get_slot(env, argv[1], &slot))
		return enif_make_badarg(env);
	return enif_make_uint(env, p->tracer[slot]);
}

ERL_NIF_TERM inv_engine_calls(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	uint32_t local;

	(void)argc;
	if (!enif_get_uint(env, argv[0], &local))
		return enif_make_badarg(env);
	inv_sessions_set_calls(local, enif_is_identical(argv[1], am_true));
	return am_ok;
}

ERL_NIF_TERM inv_engine_quiet(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	uint32_t send;
	uint32_t receive;

	(void)argc;
	if (!enif_get_uint(env, argv[0], &send) ||
	    !enif_get_uint(env, argv[1], &receive))
		return enif_make_badarg(env);
	inv_sessions_set_quiet(send, receive);
	return am_ok;
}

ERL_NIF_TERM inv_engine_lost(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM lost[INV_SHORTAGES];
	unsigned i;

	(void)argc;
	(void)argv;
	for (i = 0; i < INV_SHORTAGES; i++)
		lost[i] = enif_make_uint64(env, inv_shortage_count(i));
	return enif_make_tuple_from_array(env, lost, INV_SHORTAGES);
}
