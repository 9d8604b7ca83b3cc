/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_TRACER_H
#define INV_ENGINE_TRACER_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/tracer_ours.h"

/*
 * The tracers of sessions. A tracer is a process, a port, or a tracer of the
 * module inviso_tracer; for the last kind, the engine calls that module's
 * library directly. A tracer has a number below INV_ENGINE_TRACERS_MAX. Number
 * 0 means that the session has no tracer, or another tracer module, which the
 * VM calls.
 *
 * The server writes the table, callbacks read it. A number is reused only after
 * all other numbers were used (inviso_engine_tracers.erl). That takes so long
 * that all callbacks that read the number before have ended.
 */
#define INV_ENGINE_TRACERS_MAX 4096

enum inv_engine_tracer_kind {
	INV_ENGINE_TRACER_NONE,
	INV_ENGINE_TRACER_PROCESS,
	INV_ENGINE_TRACER_PORT,
	INV_ENGINE_TRACER_OURS
};

struct inv_engine_tracer {
	_Atomic int kind;     /* written after the other fields */
	_Atomic bool lost;    /* inv_engine_tracer_lost has sent its message */
	_Atomic bool missed;  /* a call was meta traced after the tracer died */
	ERL_NIF_TERM term;    /* the tracer's pid or port, if it has one */
	struct inv_ours ours; /* for a tracer of inviso_tracer */
};

/* inv_engine_tracer_open stores a process or port as the tracer with this
 * number. inv_engine_tracer_open_ours stores a tracer of inviso_tracer. */
void inv_engine_tracer_open(ErlNifEnv *env, uint32_t number, ERL_NIF_TERM term);
void inv_engine_tracer_open_ours(uint32_t number, const struct inv_ours *ours);
void inv_engine_tracer_close(uint32_t number);

/* Removes all tracers, when a new server starts. Later messages of the engine
 * go to this server. */
void inv_engine_tracers_clear(const ErlNifPid *server);

/* Returns the tracer with this number, which must be below the maximum. */
const struct inv_engine_tracer *inv_engine_tracer_at(uint32_t number);

/* Returns the number that this process or port has as a tracer, or 0 if the
 * process or port is not a tracer. */
uint32_t inv_engine_tracer_find(ERL_NIF_TERM term);

static inline enum inv_engine_tracer_kind inv_engine_tracer_kind(
	const struct inv_engine_tracer *t)
{
	return (enum inv_engine_tracer_kind)atomic_load_explicit(
		&t->kind, memory_order_acquire);
}

/*
 * Sends a message to a tracer that is a process or port. `env' is the
 * environment of a callback. Returns false if the tracer is dead; the server,
 * which monitors the tracer, then closes it.
 */
bool inv_engine_tracer_send(ErlNifEnv *env, const struct inv_engine_tracer *t,
			    ERL_NIF_TERM message);

/*
 * Call it when a tracer of inviso_tracer accepts no more events. Sends the
 * server {'$inviso_engine', lost, Number}, but only once for each tracer. `env'
 * is the environment of a callback.
 */
void inv_engine_tracer_lost(ErlNifEnv *env, uint32_t number);

/*
 * Marks a process whose flags in the VM may have to be changed
 * (inv_tracee_mark). For the first mark, sends the server {'$inviso_engine',
 * changed, Pid}. `env' is the environment of a callback.
 */
void inv_engine_tracer_changed(ErlNifEnv *env, ERL_NIF_TERM pid);

/* Records that a call was meta traced although the tracer with this number is
 * dead. */
void inv_engine_tracer_miss(uint32_t number);
/*
 * missed(Number) -> boolean(): true if a call was meta traced after the
 * tracer's death
 */
ERL_NIF_TERM inv_engine_tracer_missed(ErlNifEnv *env, int argc,
				      const ERL_NIF_TERM argv[]);

void inv_engine_tracers_init(ErlNifEnv *env);

#endif
