/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/chain.h"

#include <stdbool.h>

#define MANY 64 /* frames that one return may take away */

/* 0: no function. */
static uint32_t hash(ErlNifEnv *env, ERL_NIF_TERM mfa)
{
	const ERL_NIF_TERM *e;
	unsigned arity;
	uint64_t h;
	int n;

	if (!enif_get_tuple(env, mfa, &n, &e) || n != 3)
		return 0;
	if (!enif_get_uint(env, e[2], &arity) &&
	    !enif_get_list_length(env, e[2], &arity))
		return 0;
	h = (e[0] * 31 + e[1]) * 31 + arity;
	return (uint32_t)((h * UINT64_C(0x9e3779b97f4a7c15)) >> 32) | 1;
}

/* Of a frame on a chain: whose, where it returns to, what was called last. */
static struct inv_frame frame(uint32_t mask, uint32_t caller, uint32_t last)
{
	return (struct inv_frame){ .returns = mask,
				   .exceptions = caller,
				   .tracer = last };
}

void inv_chain_call(ErlNifEnv *env, struct inv_frames *chain,
		    ERL_NIF_TERM function, ERL_NIF_TERM caller, uint32_t mask)
{
	uint32_t to = hash(env, caller);
	struct inv_frame next = frame(mask, to, hash(env, function));
	struct inv_frame top;

	if (inv_frames_pop(chain, &top)) {
		if (top.exceptions == to && top.tracer != to)
			next.returns |= top.returns;
		else
			(void)inv_frames_push(chain, &top);
	}
	(void)inv_frames_push(chain, &next);
}

uint32_t inv_chain_return(ErlNifEnv *env, struct inv_frames *chain,
			  ERL_NIF_TERM caller, uint32_t all)
{
	uint32_t to = hash(env, caller);
	struct inv_frame top;
	uint32_t mask = 0;
	unsigned left;

	/* An exception takes several away, up to the function that catches. */
	for (left = MANY; left > 0 && inv_frames_pop(chain, &top); left--) {
		if (left < MANY && top.exceptions != to && top.tracer == to) {
			(void)inv_frames_push(chain, &top);
			return all & mask;
		}
		mask |= top.returns;
		if (top.exceptions == to)
			return all & mask;
	}
	return left < MANY ? all & mask : all;
}
