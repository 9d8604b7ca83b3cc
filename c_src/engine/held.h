/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_HELD_H
#define INV_ENGINE_HELD_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/tracee.h"

/*
 * Processes that are held by the tracers of sessions, because they have
 * reached a limit of open calls (abi/tracer_call.h). The VM runs the match spec
 * of all sessions and adds a frame for all of them, so if a process is held for
 * one session, its calls are left out of the other sessions, too. The tracers
 * of these sessions count the calls as left out, except tracers that are
 * processes or ports.
 *
 * Call these functions in a callback of the process.
 */
void inv_held_mark(ERL_NIF_TERM process, uint32_t slot);

/* Returns the sessions of the mask that begin requests, but for which a call
 * of the process must not begin a request now. */
uint32_t inv_held_starts(uint32_t mask, ERL_NIF_TERM process);

/* Returns true if the tracer with this number begins requests. */
bool inv_held_is_start(uint32_t tracer);

/* Returns true if the call is to be discarded; t->held is not 0. `wanting': the
 * sessions that trace calls of the process. */
bool inv_held(struct inv_tracee *t, ERL_NIF_TERM process, uint32_t wanting);

#endif
