/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_GONE_H
#define INV_NIF_GONE_H

#include <erl_nif.h>
#include <stdbool.h>

#include "nif/tracer.h"

/*
 * Whether the VM may be told that the tracer of a process is to go.
 *
 * It asks when it schedules the process in, and, to answer
 * erlang:trace_info/2, once more while the process goes through its signals.
 * Before OTP 27 the VM crashes when the tracer goes then and the process is
 * traced for what else is among them.  Which question it is cannot be seen; but
 * where the first answer takes the tracer away, there is no second question.
 * So a scheduler must not change its answer while it runs a traced process: it
 * says that nothing is to go, from before a tracer is gone until it has run a
 * process of ours, which settles it.
 *
 * From OTP 27 on the schedulers are always settled.
 */

/* Once, at load. */
void inv_gone_init(void);

/*
 * The slot's tracer goes: before a callback can see it.  Whoever calls this sees
 * to it that each scheduler is settled afterwards.  Nothing, where the VM has
 * never asked for that tracer.
 */
void inv_gone_add(const struct inv_slot *slot);

/* Of the calling thread, which has seen that the tracer is gone. */
bool inv_gone_settled(void);

/* nif_gone() -> how many are gone, of those that schedulers have to know */
ERL_NIF_TERM inv_gone_count(ErlNifEnv *env, int argc,
			    const ERL_NIF_TERM argv[]);

/* nif_settle() -> ok.  The scheduler that runs the calling process is settled. */
ERL_NIF_TERM inv_gone_settle(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[]);

#endif
