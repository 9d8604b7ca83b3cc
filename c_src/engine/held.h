/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_HELD_H
#define INV_ENGINE_HELD_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/tracee.h"

/*
 * Processes that are `held': a process has reached the limit on open calls of a
 * session's tracer, so its calls are left out for now (abi/tracer_call.h). The
 * VM runs one match spec for all sessions, which adds one frame to the
 * process's stack for all of them. So if one session's tracer holds a process,
 * the calls are left out for all sessions. The tracers of the other sessions
 * count these calls as left out; a tracer that is a process or port does not
 * learn of them.
 *
 * Call these functions in a callback for the process.
 */

/* Notes that the tracer of the session in `slot' holds the process. */
void inv_held_mark(ERL_NIF_TERM process, uint32_t slot);

/* Returns those sessions of the mask that begin requests of sequential traces,
 * but for which this call of the process must not begin a request. */
uint32_t inv_held_starts(uint32_t mask, ERL_NIF_TERM process);

/* Returns true if events of the tracer with this number begin requests
 * (nif/starts.h). */
bool inv_held_is_start(uint32_t tracer);

/* Returns true if the call is to be left out. Call it only if t->held is not 0.
 * `wanting' are the sessions that trace calls of the process. */
bool inv_held(struct inv_tracee *t, ERL_NIF_TERM process, uint32_t wanting);

#endif
