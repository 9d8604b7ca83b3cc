/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/held.h"

#include <stddef.h>

#include "engine/session.h"
#include "engine/tracer.h"

void inv_held_mark(ERL_NIF_TERM process, uint32_t slot)
{
	struct inv_tracee *t = inv_tracee_find(process);

	if (t)
		atomic_fetch_or(&t->held, UINT32_C(1) << slot);
}

/* Returns the tracer of the slot's session, or NULL if it is not a tracer of
 * the module inviso_tracer. */
static const struct inv_ours *ours(uint32_t slot)
{
	const struct inv_engine_tracer *t;
	uint32_t number;

	if (!inv_session_tracer(slot, inv_sessions_birth(), &number) || !number)
		return NULL;
	t = inv_engine_tracer_at(number);
	return inv_engine_tracer_kind(t) == INV_ENGINE_TRACER_OURS ? &t->ours :
								     NULL;
}

/* Returns those sessions of the mask whose tracer says that the process's call
 * must be left out. */
static uint32_t holders(uint32_t mask, ERL_NIF_TERM process)
{
	uint32_t held = 0;

	for (; mask != 0; mask &= mask - 1) {
		uint32_t slot = (uint32_t)__builtin_ctz(mask);
		const struct inv_ours *o = ours(slot);

		if (o && o->holds(o->handle, process, false))
			held |= UINT32_C(1) << slot;
	}
	return held;
}

uint32_t inv_held_starts(uint32_t mask, ERL_NIF_TERM process)
{
	return holders(mask & inv_sessions_starting(), process);
}

bool inv_held_is_start(uint32_t tracer)
{
	const struct inv_engine_tracer *t = inv_engine_tracer_at(tracer);

	return inv_engine_tracer_kind(t) == INV_ENGINE_TRACER_OURS &&
	       t->ours.handle & INV_TRACER_STARTS;
}

/* Tells the tracers of the sessions in mask that the call is left out because
 * of another tracer. These tracers then count the call. */
static void leave_out(uint32_t mask, ERL_NIF_TERM process)
{
	for (; mask != 0; mask &= mask - 1) {
		const struct inv_ours *o = ours((uint32_t)__builtin_ctz(mask));

		if (o)
			(void)o->holds(o->handle, process, true);
	}
}

bool inv_held(struct inv_tracee *t, ERL_NIF_TERM process, uint32_t wanting)
{
	uint32_t held = atomic_load_explicit(&t->held, memory_order_relaxed);
	uint32_t still = holders(held & wanting, process);

	atomic_fetch_and(&t->held, ~held | still);
	if (!still)
		return false;
	leave_out(wanting & ~still, process);
	return true;
}
