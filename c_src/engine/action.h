/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_ACTION_H
#define INV_ENGINE_ACTION_H

#include <erl_nif.h>
#include <stdint.h>

#include "engine/message.h"

/*
 * What match specs do with the flags of a session: a list of
 *
 *	{Slot, Process, Clear, Set}	of the tracee if Process is []
 *	{Slot, Silent}			if it is a boolean
 *
 * Clear and Set are bits, or lists as trace:process/4 has them, which may name
 * a tracer if the session has none of its own.  The VM has turned on already
 * whatever may be asked for.
 */
void inv_actions_run(const struct inv_message *m, ERL_NIF_TERM actions,
		     uint32_t mask);

/* Makes the atoms. */
void inv_actions_init(ErlNifEnv *env);

#endif
