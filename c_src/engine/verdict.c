/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/verdict.h"

#include "engine/tracee.h"

static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_match_spec_result;
static ERL_NIF_TERM am_true;

void inv_verdict_init(ErlNifEnv *env)
{
	am_false = enif_make_atom(env, "false");
	am_match_spec_result = enif_make_atom(env, "match_spec_result");
	am_true = enif_make_atom(env, "true");
}

/* The first element: who matches, and maybe more. */
static bool read_sessions(ErlNifEnv *env, ERL_NIF_TERM term,
			  struct inv_verdict *v)
{
	const ERL_NIF_TERM *e;
	int n;

	if (enif_get_uint(env, term, &v->sessions))
		return true;
	if (!enif_get_tuple(env, term, &n, &e) || n != 4 ||
	    !enif_get_uint(env, e[0], &v->sessions) ||
	    !enif_get_uint(env, e[1], &v->doubtful))
		return false;
	v->caller = e[2];
	v->edits = e[3];
	return true;
}

bool inv_verdict_read(ErlNifEnv *env, ERL_NIF_TERM opts, struct inv_verdict *v)
{
	const ERL_NIF_TERM *e;
	ERL_NIF_TERM result;
	int n;

	*v = (struct inv_verdict){ .sessions = UINT32_MAX };
	if (!enif_get_map_value(env, opts, am_match_spec_result, &result))
		return true;
	if (!enif_get_tuple(env, result, &n, &e) || n < 4 ||
	    !read_sessions(env, e[0], v) ||
	    !enif_get_uint(env, e[1], &v->valued) ||
	    !enif_get_uint(env, e[2], &v->frame.returns) ||
	    !enif_get_uint(env, e[3], &v->frame.exceptions))
		return false;
	v->values = e + 4;
	v->values_len = n - 4;
	return true;
}

/* A pid, a registered name, or [] for the tracee itself. */
static bool get_process(ErlNifEnv *env, ERL_NIF_TERM term, ERL_NIF_TERM tracee,
			ERL_NIF_TERM *process)
{
	ErlNifPid pid;

	*process = tracee;
	if (enif_is_empty_list(env, term))
		return true;
	if (!enif_get_local_pid(env, term, &pid) &&
	    !enif_whereis_pid(env, term, &pid))
		return false;
	*process = enif_make_pid(env, &pid);
	return true;
}

/* False: there is nothing to be done. */
static bool read_edit(ErlNifEnv *env, const ERL_NIF_TERM *e, int n,
		      struct inv_edit *edit)
{
	if (n == 4)
		return enif_get_uint(env, e[2], &edit->clear) &&
		       enif_get_uint(env, e[3], &edit->set);
	edit->set = e[1] == am_true ? UINT32_C(1) << INV_FLAG_SILENT : 0;
	edit->clear = e[1] == am_false ? UINT32_C(1) << INV_FLAG_SILENT : 0;
	return (edit->set | edit->clear) != 0;
}

static void edit_one(ErlNifEnv *env, ERL_NIF_TERM tracee, ERL_NIF_TERM term,
		     uint32_t mask)
{
	struct inv_edit edit = { .tracer = INV_TRACER_AS_IT_IS };
	const ERL_NIF_TERM *e;
	int n;

	if (!enif_get_tuple(env, term, &n, &e) || (n != 2 && n != 4) ||
	    !enif_get_uint(env, e[0], &edit.slot) ||
	    !(mask >> (edit.slot & 31) & 1) || !read_edit(env, e, n, &edit))
		return;
	if (n == 2 || get_process(env, e[1], tracee, &tracee))
		(void)inv_tracee_edit(tracee, &edit);
}

void inv_verdict_edit(ErlNifEnv *env, ERL_NIF_TERM tracee,
		      const struct inv_verdict *v, uint32_t mask)
{
	ERL_NIF_TERM list = v->edits;
	ERL_NIF_TERM head;

	while (list && enif_get_list_cell(env, list, &head, &list))
		edit_one(env, tracee, head, mask);
}

bool inv_verdict_is_from(ErlNifEnv *env, const struct inv_verdict *v,
			 ERL_NIF_TERM module)
{
	const ERL_NIF_TERM *mfa;
	int n;

	return v->caller && enif_get_tuple(env, v->caller, &n, &mfa) &&
	       n == 3 && mfa[0] == module;
}

/* The value of a session, taken in the order of the sessions; 0: none. */
static ERL_NIF_TERM next_value(struct inv_verdict *v, uint32_t slot)
{
	if (!(v->valued >> slot & 1) || v->values_len == 0)
		return 0;
	v->values_len--;
	return *v->values++;
}

void inv_verdict_send(const struct inv_message *m, struct inv_verdict *v,
		      uint32_t mask)
{
	uint32_t left;

	mask &= v->sessions;
	for (left = mask | v->valued; left != 0; left &= left - 1) {
		uint32_t slot = (uint32_t)__builtin_ctz(left);
		ERL_NIF_TERM value = next_value(v, slot);

		if ((mask >> slot & 1) && value != am_false)
			inv_message_send(m, slot, value == am_true ? 0 : value);
	}
}
