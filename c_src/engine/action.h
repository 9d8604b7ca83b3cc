/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_ACTION_H
#define INV_ENGINE_ACTION_H

#include <erl_nif.h>
#include <stdint.h>

#include "engine/message.h"

/*
 * Executes the actions of match specs that change flags of a session.  An
 * action is
 *
 *	{Slot, Process, Clear, Set}	flags of Process; []: of the tracee
 *	{Slot, Silent}			`silent' of the tracee; Silent: a boolean
 *
 * Clear and Set are bits, or lists of flags as trace:process/4 takes them. If
 * the session has no tracer of its own, a list may contain {tracer, Tracer}. An
 * action changes only the profile of the process (engine/profile.h): the
 * engine's server has already set in the VM all flags that actions can set.
 */
void inv_actions_run(const struct inv_message *m, ERL_NIF_TERM actions,
		     uint32_t mask);

void inv_actions_init(ErlNifEnv *env);

#endif
