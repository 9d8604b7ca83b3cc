/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/action.h"

#include <stdbool.h>

#include "engine/flag.h"
#include "engine/session.h"
#include "engine/tracee.h"
#include "engine/tracer.h"

static ERL_NIF_TERM am_all;
static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_tracer;
static ERL_NIF_TERM am_true;

void inv_actions_init(ErlNifEnv *env)
{
	am_all = enif_make_atom(env, "all");
	am_false = enif_make_atom(env, "false");
	am_tracer = enif_make_atom(env, "tracer");
	am_true = enif_make_atom(env, "true");
}

/* The session itself. */
static bool has_tracer(const struct inv_edit *edit)
{
	uint32_t tracer;

	return inv_session_tracer(edit->slot, UINT32_MAX, &tracer) &&
	       tracer != 0;
}

/* {tracer, PidOrPort}, of a session that has none */
static bool add_tracer(ErlNifEnv *env, ERL_NIF_TERM term, struct inv_edit *edit)
{
	const ERL_NIF_TERM *e;
	uint32_t number;
	int n;

	if (has_tracer(edit) || !enif_get_tuple(env, term, &n, &e) || n != 2 ||
	    e[0] != am_tracer)
		return false;
	number = inv_tracer_find(e[1]);
	edit->tracer = (uint16_t)number;
	return number != 0;
}

static bool add_flag(ErlNifEnv *env, ERL_NIF_TERM term, uint32_t *bits,
		     struct inv_edit *edit)
{
	enum inv_flag flag = inv_flag_find(term);

	if (flag != INV_FLAG_NONE)
		*bits |= UINT32_C(1) << flag;
	else if (term == am_all)
		*bits |= INV_FLAGS_ALL;
	else
		return add_tracer(env, term, edit);
	return true;
}

/* False: not a list of flags; as with the VM, nothing is done then. */
static bool get_flags(ErlNifEnv *env, ERL_NIF_TERM term, uint32_t *bits,
		      struct inv_edit *edit)
{
	ERL_NIF_TERM head;

	*bits = 0;
	if (enif_get_uint(env, term, bits))
		return true;
	while (enif_get_list_cell(env, term, &head, &term))
		if (!add_flag(env, head, bits, edit))
			return false;
	return enif_is_empty_list(env, term);
}

/*
 * A pid, a registered name, or [] for the tracee itself.  One that is dead has
 * no place, and may look as if it had that of another.
 */
static bool get_process(const struct inv_message *m, ERL_NIF_TERM term,
			ERL_NIF_TERM *process)
{
	ErlNifPid pid;

	*process = m->tracee;
	if (enif_is_empty_list(m->env, term))
		return true;
	if (!enif_get_local_pid(m->env, term, &pid) &&
	    !enif_whereis_pid(m->env, term, &pid))
		return false;
	*process = enif_make_pid(m->env, &pid);
	return enif_is_process_alive(m->env, &pid);
}

/*
 * One that has no tracer gets that of the process that is in the call; who has
 * none himself can only take away, and then takes all, as with the VM.
 */
static void choose_tracer(const struct inv_message *m, struct inv_edit *edit)
{
	if (has_tracer(edit))
		edit->tracer = INV_TRACER_AS_IT_IS;
	else if (edit->tracer == 0)
		edit->tracer = m->profile->tracer[edit->slot];
	if (edit->tracer == 0) {
		edit->clear = INV_FLAGS_ALL;
		edit->set = 0;
	}
}

/* The server has the VM forget what is not needed. */
static void apply(const struct inv_message *m, ERL_NIF_TERM process,
		  struct inv_edit *edit)
{
	uint32_t before = inv_tracee_profile_of(process);
	uint32_t after;

	choose_tracer(m, edit);
	after = inv_tracee_edit(process, edit);
	if (after != INV_PROFILE_NONE && after != before)
		inv_tracer_changed(m->env, process);
}

/* One that the session does not trace is not silent either. */
static void set_silent(const struct inv_message *m, ERL_NIF_TERM value,
		       struct inv_edit *edit)
{
	uint32_t number = inv_tracee_profile_of(m->tracee);

	if (!(inv_profile_sessions(inv_profile_at(number)) >> edit->slot & 1))
		return;
	edit->tracer = INV_TRACER_AS_IT_IS;
	if (value == am_true)
		edit->set = UINT32_C(1) << INV_FLAG_SILENT;
	else if (value == am_false)
		edit->clear = UINT32_C(1) << INV_FLAG_SILENT;
	if (edit->set != 0 || edit->clear != 0)
		(void)inv_tracee_edit(m->tracee, edit);
}

static void run(const struct inv_message *m, ERL_NIF_TERM action, uint32_t mask)
{
	struct inv_edit edit = { 0 };
	const ERL_NIF_TERM *e;
	ERL_NIF_TERM process;
	int n;

	if (!enif_get_tuple(m->env, action, &n, &e) || n < 2 ||
	    !enif_get_uint(m->env, e[0], &edit.slot) ||
	    edit.slot >= INV_SESSIONS_MAX || !(mask >> edit.slot & 1) ||
	    !inv_session_is(edit.slot, m->birth))
		return;
	if (n == 2)
		set_silent(m, e[1], &edit);
	else if (n == 4 && get_process(m, e[1], &process) &&
		 get_flags(m->env, e[2], &edit.clear, &edit) &&
		 get_flags(m->env, e[3], &edit.set, &edit))
		apply(m, process, &edit);
}

void inv_actions_run(const struct inv_message *m, ERL_NIF_TERM actions,
		     uint32_t mask)
{
	ERL_NIF_TERM head;

	while (enif_get_list_cell(m->env, actions, &head, &actions))
		run(m, head, mask);
}
