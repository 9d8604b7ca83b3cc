/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/verdict.h"

static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_match_spec_result;
static ERL_NIF_TERM am_true;

void inv_verdict_init(ErlNifEnv *env)
{
	am_false = enif_make_atom(env, "false");
	am_match_spec_result = enif_make_atom(env, "match_spec_result");
	am_true = enif_make_atom(env, "true");
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
	    !enif_get_uint(env, e[0], &v->sessions) ||
	    !enif_get_uint(env, e[1], &v->valued) ||
	    !enif_get_uint(env, e[2], &v->frame.returns) ||
	    !enif_get_uint(env, e[3], &v->frame.exceptions))
		return false;
	v->values = e + 4;
	v->values_len = n - 4;
	return true;
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
