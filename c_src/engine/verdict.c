/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/verdict.h"

#include "engine/tracer.h"

static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_match_spec_result;
static ERL_NIF_TERM am_true;

void inv_verdict_init(ErlNifEnv *env)
{
	am_false = enif_make_atom(env, "false");
	am_match_spec_result = enif_make_atom(env, "match_spec_result");
	am_true = enif_make_atom(env, "true");
}

/* Reads the first element of the match spec's result: Sessions, or a tuple of
 * five elements (verdict.h). */
static bool read_sessions(ErlNifEnv *env, ERL_NIF_TERM term,
			  struct inv_verdict *v)
{
	const ERL_NIF_TERM *e;
	int n;

	if (enif_get_uint(env, term, &v->sessions))
		return true;
	if (!enif_get_tuple(env, term, &n, &e) || n != 5 ||
	    !enif_get_uint(env, e[0], &v->sessions) ||
	    !enif_get_uint(env, e[1], &v->specs) ||
	    !enif_get_uint(env, e[4], &v->frame.tracer) ||
	    v->frame.tracer >= INV_ENGINE_TRACERS_MAX)
		return false;
	v->caller = e[2];
	v->actions = e[3];
	return true;
}

/* Reads one Value for each session in v->valued, from bit 0 on, and sets *used
 * to the number of values. */
static bool read_values(struct inv_verdict *v, const ERL_NIF_TERM *e, int n,
			int *used)
{
	uint32_t left;

	*used = 0;
	for (left = v->valued; left != 0; left &= left - 1) {
		if (*used == n)
			return false;
		v->value[__builtin_ctz(left)] = e[(*used)++];
	}
	return true;
}

/* Reads the tests. If several tests of a session have the Boolean true, only
 * the first of them counts. */
static bool read_tests(ErlNifEnv *env, struct inv_verdict *v,
		       const ERL_NIF_TERM *e, int n)
{
	const ERL_NIF_TERM *test;
	uint32_t slot;
	int arity;

	for (; n > 0; e++, n--) {
		if (!enif_get_tuple(env, *e, &arity, &test) || arity != 3 ||
		    !enif_get_uint(env, test[0], &slot) || slot > 31)
			return false;
		if (test[1] != am_true || (v->sessions >> slot & 1))
			continue;
		v->sessions |= UINT32_C(1) << slot;
		v->valued |= UINT32_C(1) << slot;
		v->value[slot] = test[2];
	}
	return true;
}

void inv_verdict_none(struct inv_verdict *v)
{
	v->given = false;
	v->sessions = UINT32_MAX;
	v->valued = 0;
	v->specs = 0;
	v->frame = (struct inv_call_frame){ 0 };
	v->caller = 0;
	v->actions = 0;
}

bool inv_verdict_read(ErlNifEnv *env, ERL_NIF_TERM opts, struct inv_verdict *v)
{
	const ERL_NIF_TERM *e;
	ERL_NIF_TERM result;
	int used;
	int n;

	inv_verdict_none(v);
	if (!enif_get_map_value(env, opts, am_match_spec_result, &result))
		return true;
	if (!enif_get_tuple(env, result, &n, &e) || n < 4 ||
	    !read_sessions(env, e[0], v) ||
	    !enif_get_uint(env, e[1], &v->valued) ||
	    !enif_get_uint(env, e[2], &v->frame.returns) ||
	    !enif_get_uint(env, e[3], &v->frame.exceptions))
		return false;
	v->given = true;
	return read_values(v, e + 4, n - 4, &used) &&
	       read_tests(env, v, e + 4 + used, n - 4 - used);
}

uint32_t inv_verdict_told(const struct inv_verdict *v)
{
	uint32_t told = v->sessions;
	uint32_t left;

	for (left = told & v->valued; left != 0; left &= left - 1)
		if (v->value[__builtin_ctz(left)] == am_false)
			told &= ~(left & -left);
	return told;
}

void inv_verdict_send(struct inv_message *m, const struct inv_verdict *v,
		      uint32_t mask)
{
	uint32_t left;

	for (left = mask & inv_verdict_told(v); left != 0; left &= left - 1) {
		uint32_t slot = (uint32_t)__builtin_ctz(left);
		ERL_NIF_TERM value = v->valued >> slot & 1 ? v->value[slot] :
							     am_true;

		inv_message_send(m, slot, value == am_true ? 0 : value);
	}
}
