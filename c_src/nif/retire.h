/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_RETIRE_H
#define INV_NIF_RETIRE_H

#include <erl_nif.h>
#include <stdbool.h>

#include "nif/tracer.h"

/*
 * Decides whether enabled/3 may return `remove', so that the VM removes the
 * tracer of a process.
 *
 * The VM calls enabled/3 when it schedules a traced process in. If another
 * process has called erlang:trace_info/2 for the traced process, the VM calls
 * enabled/3 a second time, while the traced process handles its signals. Before
 * OTP 27, a VM that removes the tracer at the second call can crash: at the
 * next signal of the process, it calls a tracer that does not exist. A callback
 * cannot distinguish the two calls. But if the first call removes the tracer,
 * there is no second call. So only one case is dangerous: the first call keeps
 * the tracer, and the second call removes it. Both calls are made while a
 * scheduler runs the traced process, so the result must not change during this
 * time. Therefore enabled/3 keeps the tracer until the scheduler is `settled':
 * until it has run a process of inviso (nif_settle) after the tracer was
 * retired.
 *
 * From OTP 27 on all schedulers are always settled.
 */

/* Call it once, when the library is loaded. */
void inv_retire_init(void);

/*
 * Counts the slot's tracer as retired. Call it before callbacks can see that
 * the tracer is retired. Afterwards a process must call nif_settle on each
 * scheduler. Does nothing if the VM has never called enabled/3 for the tracer.
 */
void inv_retire_add(const struct inv_slot *slot);

/*
 * Returns true if the calling thread is settled. Call it after the thread has
 * seen that the tracer is retired.
 */
bool inv_retire_settled(void);

/* nif_gone() -> how many tracers were retired */
ERL_NIF_TERM inv_retire_count(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[]);

/* nif_settle() -> ok. Settles the scheduler that runs the calling process. */
ERL_NIF_TERM inv_retire_settle(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[]);

#endif
