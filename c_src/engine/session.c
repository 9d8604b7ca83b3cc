/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/session.h"

#include <stdatomic.h>

struct session {
	_Atomic uint32_t tracer; /* number of the session's tracer */
	_Atomic uint32_t birth;	 /* written before the tracer */
};

static struct session sessions[INV_SESSIONS_MAX];
static _Atomic uint32_t alive;
static _Atomic uint32_t births;
static _Atomic uint32_t starting;
static _Atomic uint32_t no_send;
static _Atomic uint32_t no_receive;
static _Atomic uint32_t local_calls;
static _Atomic bool have_callers;

uint32_t inv_session_open(uint32_t slot, uint32_t tracer)
{
	uint32_t birth = atomic_fetch_add(&births, 1) + 1;

	atomic_store(&sessions[slot].birth, birth);
	atomic_store_explicit(&sessions[slot].tracer, tracer,
			      memory_order_release);
	atomic_fetch_or(&alive, UINT32_C(1) << slot);
	return birth;
}

void inv_session_starts(uint32_t slot)
{
	atomic_fetch_or(&starting, UINT32_C(1) << slot);
}

uint32_t inv_sessions_starting(void)
{
	return atomic_load_explicit(&starting, memory_order_relaxed);
}

void inv_session_close(uint32_t slot)
{
	atomic_fetch_and(&alive, ~(UINT32_C(1) << slot));
	atomic_fetch_and(&starting, ~(UINT32_C(1) << slot));
}

void inv_sessions_close_all(void)
{
	atomic_store(&alive, 0);
	atomic_store(&starting, 0);
	inv_sessions_set_quiet(0, 0);
	inv_sessions_set_calls(0, false);
}

uint32_t inv_sessions_alive(void)
{
	return atomic_load_explicit(&alive, memory_order_acquire);
}

uint32_t inv_sessions_no_send(void)
{
	return atomic_load_explicit(&no_send, memory_order_relaxed);
}

uint32_t inv_sessions_no_receive(void)
{
	return atomic_load_explicit(&no_receive, memory_order_relaxed);
}

void inv_sessions_set_quiet(uint32_t send, uint32_t receive)
{
	atomic_store(&no_send, send);
	atomic_store(&no_receive, receive);
}

uint32_t inv_sessions_local(void)
{
	return atomic_load_explicit(&local_calls, memory_order_relaxed);
}

bool inv_sessions_have_callers(void)
{
	return atomic_load_explicit(&have_callers, memory_order_relaxed);
}

void inv_sessions_set_calls(uint32_t local, bool callers)
{
	atomic_store(&local_calls, local);
	atomic_store(&have_callers, callers);
}

uint32_t inv_sessions_birth(void)
{
	return atomic_load_explicit(&births, memory_order_acquire);
}

bool inv_session_is(uint32_t slot, uint32_t birth)
{
	return atomic_load_explicit(&sessions[slot].birth,
				    memory_order_relaxed) <= birth;
}

bool inv_session_tracer(uint32_t slot, uint32_t birth, uint32_t *tracer)
{
	*tracer = atomic_load_explicit(&sessions[slot].tracer,
				       memory_order_acquire);
	return inv_session_is(slot, birth);
}
