/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_SESSION_H
#define INV_ENGINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Trace sessions at one time.  A session is a bit: what concerns several is a
 * mask of 32.  Callbacks only read here; one process, the engine's server,
 * writes.
 */
#define INV_SESSIONS_MAX 32

/*
 * Sessions are numbered as they come.  A slot is used again, at once if all
 * others are in use: a callback that has seen a mask then asks for what a
 * session was that is over.  So whoever has a mask has the number of the
 * youngest session, read before: what has a greater one is another's.
 */
uint32_t inv_session_open(uint32_t slot, uint32_t tracer);
void inv_session_close(uint32_t slot);
void inv_sessions_close_all(void);

/* The sessions that there are. */
uint32_t inv_sessions_alive(void);

/*
 * Those whose pattern of sent, of received messages is `false': the VM is not
 * told, so that it has no pattern where sessions want all messages or none.
 */
uint32_t inv_sessions_no_send(void);
uint32_t inv_sessions_no_receive(void);
void inv_sessions_set_quiet(uint32_t send, uint32_t receive);

/*
 * Of what is set on functions: the sessions that trace local calls; whether the
 * match specs tell who called, so that events return_to have a session each
 * (chain.h).
 */
uint32_t inv_sessions_local(void);
bool inv_sessions_have_callers(void);
void inv_sessions_set_calls(uint32_t local, bool callers);

/* The youngest session's number. */
uint32_t inv_sessions_birth(void);

/* Whether the slot's session was there when `birth' was the youngest's. */
bool inv_session_is(uint32_t slot, uint32_t birth);

/* The number of its tracer; false: it was not there. */
bool inv_session_tracer(uint32_t slot, uint32_t birth, uint32_t *tracer);

#endif
