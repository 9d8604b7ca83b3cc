/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_SESSION_H
#define INV_ENGINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The current trace sessions. Each has a slot, a number below 32; a set of
 * sessions is a mask of 32 bits. Callbacks only read; one process, the engine's
 * server, writes.
 */
#define INV_SESSIONS_MAX 32

/*
 * Sessions are numbered in the order in which they are opened. A slot is
 * reused, perhaps at once. So when a callback looks up a slot of a mask, the
 * slot may belong to a newer session. Therefore the callback reads the number
 * of the youngest session (`birth') before the mask: if the slot's session has
 * a greater number, it is newer than the mask.
 */
uint32_t inv_session_open(uint32_t slot, uint32_t tracer);
/* The slot's session begins requests of sequential traces: its tracer must be asked
 * before a call. Ends with the session. */
void inv_session_starts(uint32_t slot);
uint32_t inv_sessions_starting(void);
void inv_session_close(uint32_t slot);
void inv_sessions_close_all(void);

/* Returns the sessions that are open. */
uint32_t inv_sessions_alive(void);

/*
 * Returns the sessions whose pattern for sent or received messages is `false'.
 * Callbacks apply these patterns. So the VM needs no pattern if each session
 * wants all messages or none.
 */
uint32_t inv_sessions_no_send(void);
uint32_t inv_sessions_no_receive(void);
void inv_sessions_set_quiet(uint32_t send, uint32_t receive);

/*
 * inv_sessions_local() returns the sessions that trace local calls.
 * inv_sessions_have_callers() returns true if match specs report the caller, so
 * that the engine can find the sessions of an event return_to (chain.h).
 */
uint32_t inv_sessions_local(void);
bool inv_sessions_have_callers(void);
void inv_sessions_set_calls(uint32_t local, bool callers);

/* Returns the youngest session's number. */
uint32_t inv_sessions_birth(void);

/*
 * Returns true if the slot's session is not younger than the session `birth'.
 */
bool inv_session_is(uint32_t slot, uint32_t birth);

/*
 * Stores the number of the tracer of the slot's session. Returns false if that
 * session is younger than the session `birth'.
 */
bool inv_session_tracer(uint32_t slot, uint32_t birth, uint32_t *tracer);

#endif
