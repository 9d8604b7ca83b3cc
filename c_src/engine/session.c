/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/session.h"

#include <stdatomic.h>

static struct inv_session sessions[INV_SESSIONS_MAX];
static _Atomic uint32_t alive;
static _Atomic uint32_t births;

static ERL_NIF_TERM am_inviso;
static ERL_NIF_TERM am_lost;

uint32_t inv_session_open(uint32_t slot, const struct inv_session *session)
{
	struct inv_session *s = &sessions[slot];

	s->tracer = session->tracer;
	s->ours = session->ours;
	s->server = session->server;
	atomic_store(&s->lost, false);
	s->birth = atomic_fetch_add(&births, 1) + 1;
	atomic_fetch_or(&alive, UINT32_C(1) << slot);
	return s->birth;
}

void inv_session_lost(ErlNifEnv *env, uint32_t slot)
{
	struct inv_session *s = &sessions[slot];

	if (!atomic_exchange(&s->lost, true))
		(void)enif_send(env, &s->server, NULL,
				enif_make_tuple3(env, am_inviso, am_lost,
						 enif_make_uint(env, slot)));
}

void inv_sessions_init(ErlNifEnv *env)
{
	am_inviso = enif_make_atom(env, "$inviso_engine");
	am_lost = enif_make_atom(env, "lost");
}

void inv_session_close(uint32_t slot)
{
	atomic_fetch_and(&alive, ~(UINT32_C(1) << slot));
}

void inv_sessions_close_all(void)
{
	atomic_store(&alive, 0);
}

uint32_t inv_sessions_alive(void)
{
	return atomic_load_explicit(&alive, memory_order_acquire);
}

uint32_t inv_sessions_birth(void)
{
	return atomic_load_explicit(&births, memory_order_relaxed);
}

const struct inv_session *inv_session_at(uint32_t slot)
{
	return &sessions[slot];
}
