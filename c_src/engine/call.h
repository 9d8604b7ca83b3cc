/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_CALL_H
#define INV_ENGINE_CALL_H

#include <stdint.h>

#include "engine/message.h"
#include "engine/verdict.h"

/*
 * Sends the event of a call to those sessions of `mask' that want it. Runs in
 * the thread of the calling process. `mask' must be the sessions that trace
 * calls of this process; for a meta traced call, it must be all sessions.
 */
void inv_call_begin(struct inv_message *m, struct inv_verdict *v,
		    uint32_t mask);
/* Sends the event return_from or exception_from. */
void inv_call_end(struct inv_message *m, uint32_t mask);

/* Sends the event return_to. */
void inv_call_return_to(struct inv_message *m, uint32_t mask);

#endif
