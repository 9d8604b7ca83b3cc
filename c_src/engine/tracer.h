/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_TRACER_H
#define INV_ENGINE_TRACER_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/tracer_ours.h"

/*
 * Who gets the events: a process, a port, or our own tracer module, whose
 * library is called.  A tracer has a small number; 0 is none, which is also the
 * one of a module that the VM calls itself.
 *
 * The server writes, callbacks read.  A number is used again only after all
 * others have been (inviso_engine_tracers.erl): a callback that has seen it is
 * long over.
 */
#define INV_ENGINE_TRACERS_MAX 4096

enum inv_engine_tracer_kind {
	INV_ENGINE_TRACER_NONE,
	INV_ENGINE_TRACER_PROCESS,
	INV_ENGINE_TRACER_PORT,
	INV_ENGINE_TRACER_OURS
};

struct inv_engine_tracer {
	_Atomic int kind;     /* the rest is there before */
	_Atomic bool lost;    /* the server knows that it takes no more */
	_Atomic bool missed;  /* it was dead when it should have got a call */
	ERL_NIF_TERM term;    /* of a process or port */
	struct inv_ours ours; /* of ours */
};

/* A pid or a port; and one of ours. */
void inv_engine_tracer_open(ErlNifEnv *env, uint32_t number, ERL_NIF_TERM term);
void inv_engine_tracer_open_ours(uint32_t number, const struct inv_ours *ours);
void inv_engine_tracer_close(uint32_t number);

/* No tracers, and a new server. */
void inv_engine_tracers_clear(const ErlNifPid *server);

/* For a number below the maximum. */
const struct inv_engine_tracer *inv_engine_tracer_at(uint32_t number);

/* The number of a process or port, 0 if it is no tracer. */
uint32_t inv_engine_tracer_find(ERL_NIF_TERM term);

static inline enum inv_engine_tracer_kind inv_engine_tracer_kind(
	const struct inv_engine_tracer *t)
{
	return (enum inv_engine_tracer_kind)atomic_load_explicit(
		&t->kind, memory_order_acquire);
}

/*
 * Sends a message to a process or port, in the environment of a callback.  One
 * that is dead is seen by the server, which watches it.  False: it is dead.
 */
bool inv_engine_tracer_send(ErlNifEnv *env, const struct inv_engine_tracer *t,
			    ERL_NIF_TERM message);

/*
 * One of ours takes no more events: the server gets {'$inviso_engine', lost,
 * Number}, once.  From a callback, in its environment.
 */
void inv_engine_tracer_lost(ErlNifEnv *env, uint32_t number);

/*
 * What the VM has for a process is not what is needed any more: it is marked
 * (tracee.h), and the server told {'$inviso_engine', changed, Pid} if it has
 * not been.  Likewise.
 */
void inv_engine_tracer_changed(ErlNifEnv *env, ERL_NIF_TERM pid);

/* A call was meta traced for one that is dead. */
void inv_engine_tracer_miss(uint32_t number);
/* missed(Number) -> boolean(): since the number is that tracer's */
ERL_NIF_TERM inv_engine_tracer_missed(ErlNifEnv *env, int argc,
				      const ERL_NIF_TERM argv[]);

/* Makes the atoms. */
void inv_engine_tracers_init(ErlNifEnv *env);

#endif
