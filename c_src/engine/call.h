/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_CALL_H
#define INV_ENGINE_CALL_H

#include <stdint.h>

#include "engine/message.h"
#include "engine/verdict.h"

/*
 * Calls and their ends, in the thread of the process that makes them.  `mask`:
 * the sessions that trace its calls; of meta traced calls, all.
 */
void inv_call_begin(struct inv_message *m, struct inv_verdict *v,
		    uint32_t mask);
/* return_from and exception_from */
void inv_call_end(struct inv_message *m, uint32_t mask);

/* return_to */
void inv_call_return_to(struct inv_message *m, uint32_t mask);

#endif
