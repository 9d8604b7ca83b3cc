/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tracer.h"

#include "engine/tracee.h"

static struct inv_engine_tracer tracers[INV_ENGINE_TRACERS_MAX];
static ErlNifPid server;

static ERL_NIF_TERM am_inviso;
static ERL_NIF_TERM am_changed;
static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_lost;
static ERL_NIF_TERM am_true;

void inv_engine_tracers_init(ErlNifEnv *env)
{
	am_inviso = enif_make_atom(env, "$inviso_engine");
	am_changed = enif_make_atom(env, "changed");
	am_false = enif_make_atom(env, "false");
	am_lost = enif_make_atom(env, "lost");
	am_true = enif_make_atom(env, "true");
}

static void open_as(struct inv_engine_tracer *t,
		    enum inv_engine_tracer_kind kind)
{
	atomic_store(&t->lost, false);
	atomic_store(&t->missed, false);
	atomic_store_explicit(&t->kind, kind, memory_order_release);
}

void inv_engine_tracer_open(ErlNifEnv *env, uint32_t number, ERL_NIF_TERM term)
{
	ErlNifPid pid;

	tracers[number].term = term;
	open_as(&tracers[number], enif_get_local_pid(env, term, &pid) ?
					  INV_ENGINE_TRACER_PROCESS :
					  INV_ENGINE_TRACER_PORT);
}

void inv_engine_tracer_open_ours(uint32_t number, const struct inv_ours *ours)
{
	tracers[number].ours = *ours;
	open_as(&tracers[number], INV_ENGINE_TRACER_OURS);
}

void inv_engine_tracer_close(uint32_t number)
{
	atomic_store(&tracers[number].kind, INV_ENGINE_TRACER_NONE);
}

void inv_engine_tracers_clear(const ErlNifPid *new_server)
{
	uint32_t i;

	for (i = 0; i < INV_ENGINE_TRACERS_MAX; i++)
		inv_engine_tracer_close(i);
	server = *new_server;
}

const struct inv_engine_tracer *inv_engine_tracer_at(uint32_t number)
{
	return &tracers[number];
}

/*
 * Sends the message to the driver of a tracer that is a port: in the external
 * term format, as the VM does.
 */
static void command(ErlNifEnv *env, ERL_NIF_TERM term, ERL_NIF_TERM message)
{
	ErlNifPort port;
	ErlNifBinary bin;

	if (enif_get_local_port(env, term, &port) &&
	    enif_term_to_binary(env, message, &bin))
		(void)enif_port_command(env, &port, NULL,
					enif_make_binary(env, &bin));
}

bool inv_engine_tracer_send(ErlNifEnv *env, const struct inv_engine_tracer *t,
			    ERL_NIF_TERM message)
{
	ErlNifPid pid = { t->term };

	if (inv_engine_tracer_kind(t) == INV_ENGINE_TRACER_PROCESS)
		return enif_send(env, &pid, NULL, message);
	command(env, t->term, message);
	return true;
}

uint32_t inv_engine_tracer_find(ERL_NIF_TERM term)
{
	uint32_t i;

	for (i = 1; i < INV_ENGINE_TRACERS_MAX; i++) {
		enum inv_engine_tracer_kind kind =
			inv_engine_tracer_kind(&tracers[i]);

		if ((kind == INV_ENGINE_TRACER_PROCESS ||
		     kind == INV_ENGINE_TRACER_PORT) &&
		    tracers[i].term == term)
			return i;
	}
	return 0;
}

static void tell(ErlNifEnv *env, ERL_NIF_TERM what, ERL_NIF_TERM term)
{
	(void)enif_send(env, &server, NULL,
			enif_make_tuple3(env, am_inviso, what, term));
}

void inv_engine_tracer_miss(uint32_t number)
{
	atomic_store(&tracers[number].missed, true);
}

ERL_NIF_TERM inv_engine_tracer_missed(ErlNifEnv *env, int argc,
				      const ERL_NIF_TERM argv[])
{
	uint32_t number;

	(void)argc;
	if (!enif_get_uint(env, argv[0], &number) ||
	    number >= INV_ENGINE_TRACERS_MAX)
		return enif_make_badarg(env);
	return atomic_load(&tracers[number].missed) ? am_true : am_false;
}

void inv_engine_tracer_lost(ErlNifEnv *env, uint32_t number)
{
	if (!atomic_exchange(&tracers[number].lost, true))
		tell(env, am_lost, enif_make_uint(env, number));
}

void inv_engine_tracer_changed(ErlNifEnv *env, ERL_NIF_TERM pid)
{
	struct inv_tracee *t = inv_tracee_find(pid);

	if (!t)
		return;
	inv_tracee_time(t);
	if (inv_tracee_mark(t))
		tell(env, am_changed, pid);
}
