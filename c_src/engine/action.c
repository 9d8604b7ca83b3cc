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

/* One action of the session in the slot edit.slot. */
struct action {
	const struct inv_message *m;
	uint32_t tracer; /* number of the session's own tracer; 0: none */
	struct inv_edit edit;
};

/* Reads {tracer, PidOrPort}, an element of a list of flags to set. Returns
 * false if the session has a tracer of its own, or if the engine has no tracer
 * that is this process or port. */
static bool add_tracer(struct action *a, ERL_NIF_TERM term)
{
	const ERL_NIF_TERM *e;
	uint32_t number;
	int n;

	if (a->tracer != 0 || !enif_get_tuple(a->m->env, term, &n, &e) ||
	    n != 2 || e[0] != am_tracer)
		return false;
	number = inv_engine_tracer_find(e[1]);
	a->edit.tracer = (uint16_t)number;
	return number != 0;
}

static bool add_flag(struct action *a, ERL_NIF_TERM term, uint32_t *bits)
{
	enum inv_flag flag = inv_flag_find(term);

	if (flag != INV_FLAG_NONE)
		*bits |= UINT32_C(1) << flag;
	else if (term == am_all)
		*bits |= INV_FLAGS_ALL;
	else
		return add_tracer(a, term);
	return true;
}

/*
 * Reads bits or a list of flags. Returns false if the term is neither; the
 * engine then changes nothing, as the VM does.
 */
static bool get_flags(struct action *a, ERL_NIF_TERM term, uint32_t *bits)
{
	ErlNifEnv *env = a->m->env;
	ERL_NIF_TERM head;

	*bits = 0;
	if (enif_get_uint(env, term, bits))
		return true;
	while (enif_get_list_cell(env, term, &head, &term))
		if (!add_flag(a, head, bits))
			return false;
	return enif_is_empty_list(env, term);
}

/*
 * Reads a pid, a registered name, or [] for the tracee itself. Returns false if
 * the process is dead, because another process may already have its entry in
 * the table of tracees.
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
 * Chooses the tracer for the process that the action changes. This is the first
 * of: the session's own tracer; T, if the action contains {tracer, T}; and the
 * tracer that the session has for the calling process. If there is no tracer,
 * the action clears all flags, as in the VM.
 */
static void choose_tracer(struct action *a)
{
	struct inv_edit *edit = &a->edit;

	if (a->tracer != 0)
		edit->tracer = INV_ENGINE_TRACER_AS_IT_IS;
	else if (edit->tracer == 0)
		edit->tracer = a->m->profile->tracer[edit->slot];
	if (edit->tracer == 0) {
		edit->clear = INV_FLAGS_ALL;
		edit->set = 0;
	}
}

/*
 * Applies the edit to the profile of the process. The server later clears in
 * the VM the flags that the process no longer needs.
 */
static void apply(struct action *a, ERL_NIF_TERM process)
{
	uint32_t before = inv_tracee_profile_of(process);
	uint32_t after;

	choose_tracer(a);
	after = inv_tracee_edit(process, &a->edit);
	if (after != INV_PROFILE_NONE && after != before)
		inv_engine_tracer_changed(a->m->env, process);
}

/* Sets or clears the session's flag `silent' on the tracee, if the session
 * traces the tracee. */
static void set_silent(struct action *a, ERL_NIF_TERM value)
{
	uint32_t number = inv_tracee_profile_of(a->m->tracee);
	struct inv_edit *edit = &a->edit;

	if (!(inv_profile_sessions(inv_profile_at(number)) >> edit->slot & 1))
		return;
	edit->tracer = INV_ENGINE_TRACER_AS_IT_IS;
	if (value == am_true)
		edit->set = UINT32_C(1) << INV_FLAG_SILENT;
	else if (value == am_false)
		edit->clear = UINT32_C(1) << INV_FLAG_SILENT;
	if (edit->set != 0 || edit->clear != 0)
		(void)inv_tracee_edit(a->m->tracee, edit);
}

static void run(const struct inv_message *m, ERL_NIF_TERM action, uint32_t mask)
{
	struct action a = { .m = m };
	const ERL_NIF_TERM *e;
	ERL_NIF_TERM process;
	int n;

	if (!enif_get_tuple(m->env, action, &n, &e) || n < 2 ||
	    !enif_get_uint(m->env, e[0], &a.edit.slot) ||
	    a.edit.slot >= INV_SESSIONS_MAX || !(mask >> a.edit.slot & 1) ||
	    !inv_session_tracer(a.edit.slot, m->birth, &a.tracer))
		return;
	if (n == 2)
		set_silent(&a, e[1]);
	else if (n == 4 && get_process(m, e[1], &process) &&
		 get_flags(&a, e[2], &a.edit.clear) &&
		 get_flags(&a, e[3], &a.edit.set))
		apply(&a, process);
}

void inv_actions_run(const struct inv_message *m, ERL_NIF_TERM actions,
		     uint32_t mask)
{
	ERL_NIF_TERM head;

	while (enif_get_list_cell(m->env, actions, &head, &actions))
		run(m, head, mask);
}
