/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_SESSION_H
#define INV_ENGINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The open trace sessions. Each has a slot, a number below 32; a set of
 * sessions is a mask of 32 bits, one for each slot. Only one process, the
 * engine's server, changes these data; callbacks read them.
 */
#define INV_SESSIONS_MAX 32

/*
 * Opens a session in a free slot, and returns its number. Sessions are numbered
 * in the order in which they are opened. A slot can be reused at once. So after
 * a callback has read a mask, a slot in the mask can get a newer session.
 * Therefore the callback reads the number of the youngest session (`birth')
 * before it reads the mask. If the slot's session has a greater number, the
 * mask does not mean this session.
 */
uint32_t inv_session_open(uint32_t slot, uint32_t tracer);
/* Marks the slot's session until the session is closed. A marked session begins
 * requests of sequential traces. So before each call the engine asks the
 * session's tracer whether the call may begin a request (inv_held_starts).
 * inv_sessions_starting returns the marked sessions. */
void inv_session_starts(uint32_t slot);
uint32_t inv_sessions_starting(void);
void inv_session_close(uint32_t slot);
void inv_sessions_close_all(void);

/* Returns the sessions that are open. */
uint32_t inv_sessions_alive(void);

/*
 * inv_sessions_no_send returns the sessions that want no sent messages, because
 * their pattern for `send' events is `false'. inv_sessions_no_receive returns
 * the sessions whose pattern for `receive' events is `false'. The callbacks
 * leave these sessions out. So if each session wants all messages or none, the
 * engine sets no pattern in the VM.
 */
uint32_t inv_sessions_no_send(void);
uint32_t inv_sessions_no_receive(void);
void inv_sessions_set_quiet(uint32_t send, uint32_t receive);

/*
 * inv_sessions_local() returns the sessions that trace local calls.
 * inv_sessions_have_callers() returns true if the match specs in the VM report
 * the caller of a call. With the caller, the engine finds the sessions that
 * want an event return_to (chain.h).
 */
uint32_t inv_sessions_local(void);
bool inv_sessions_have_callers(void);
void inv_sessions_set_calls(uint32_t local, bool callers);

/* Returns the youngest session's number. */
uint32_t inv_sessions_birth(void);

/*
 * Returns true if the number of the slot's session is at most `birth', that is,
 * if this session was open when the caller read `birth'.
 */
bool inv_session_is(uint32_t slot, uint32_t birth);

/*
 * Stores the number of the tracer of the slot's session in *tracer. Returns
 * false if the session's number is greater than `birth'.
 */
bool inv_session_tracer(uint32_t slot, uint32_t birth, uint32_t *tracer);

#endif
