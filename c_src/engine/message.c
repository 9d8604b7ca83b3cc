/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/message.h"

#include "engine/held.h"
#include "engine/session.h"
#include "engine/tracer.h"

/*
 * The elements of the longest message: trace, tracee, tag, content, extra,
 * value, scheduler, timestamp.
 */
#define ELEMENTS_MAX 8

static ERL_NIF_TERM am_cpu_timestamp;
static ERL_NIF_TERM am_timestamp;
static ERL_NIF_TERM am_trace;
static ERL_NIF_TERM am_trace_ts;

void inv_messages_init(ErlNifEnv *env)
{
	am_cpu_timestamp = enif_make_atom(env, "cpu_timestamp");
	am_timestamp = enif_make_atom(env, "timestamp");
	am_trace = enif_make_atom(env, "trace");
	am_trace_ts = enif_make_atom(env, "trace_ts");
}

static ERL_NIF_TERM monotonic(ErlNifEnv *env)
{
	return enif_make_int64(env, enif_monotonic_time(ERL_NIF_NSEC));
}

/*
 * Returns true if another tool has requested CPU timestamps with
 * erlang:trace/3. The timestamps of all sessions are then CPU timestamps.
 */
static bool is_cpu_time(const struct inv_message *m)
{
	ERL_NIF_TERM kind;

	return enif_get_map_value(m->env, m->opts, am_timestamp, &kind) &&
	       kind == am_cpu_timestamp;
}

/* Returns the timestamp of the kind that the slot's session wants, or 0 if the
 * session wants none. */
static ERL_NIF_TERM timestamp(const struct inv_message *m, uint32_t slot)
{
	if (inv_message_has(m, INV_FLAG_TIMESTAMP, slot))
		return is_cpu_time(m) ? enif_cpu_time(m->env) :
					enif_now_time(m->env);
	if (inv_message_has(m, INV_FLAG_STRICT, slot))
		return enif_make_tuple2(
			m->env, monotonic(m->env),
			enif_make_unique_integer(m->env,
						 ERL_NIF_UNIQUE_MONOTONIC));
	if (inv_message_has(m, INV_FLAG_MONOTONIC, slot))
		return monotonic(m->env);
	return 0;
}

/* Returns {M, F, Arity} for {M, F, Args}. */
static ERL_NIF_TERM with_arity(ErlNifEnv *env, ERL_NIF_TERM call)
{
	const ERL_NIF_TERM *mfa;
	unsigned arity;
	int n;

	if (!enif_get_tuple(env, call, &n, &mfa) || n != 3 ||
	    !enif_get_list_length(env, mfa[2], &arity))
		return call;
	return enif_make_tuple3(env, mfa[0], mfa[1],
				enif_make_uint(env, arity));
}

ERL_NIF_TERM inv_message_content(const struct inv_message *m, uint32_t slot)
{
	return m->tag->kind == INV_KIND_CALL &&
			       inv_message_has(m, INV_FLAG_ARITY, slot) ?
		       with_arity(m->env, m->content) :
		       m->content;
}

static ERL_NIF_TERM compose(const struct inv_message *m, uint32_t slot,
			    ERL_NIF_TERM value)
{
	ERL_NIF_TERM element[ELEMENTS_MAX];
	ERL_NIF_TERM stamp = timestamp(m, slot);
	unsigned n = 0;

	element[n++] = stamp ? am_trace_ts : am_trace;
	element[n++] = m->tracee;
	element[n++] = m->tag->atom;
	element[n++] = inv_message_content(m, slot);
	if (m->extra)
		element[n++] = m->extra;
	if (value)
		element[n++] = value;
	if (m->scheduler && inv_message_has(m, INV_FLAG_SCHEDULER_ID, slot))
		element[n++] = m->scheduler;
	if (stamp)
		element[n++] = stamp;
	return enif_make_tuple_from_array(m->env, element, n);
}

/*
 * Returns true if the slot's session has no flag that changes the form of a
 * message.
 */
static bool is_bare(const struct inv_message *m, uint32_t slot)
{
	const uint32_t *flagged = m->profile->sessions;

	return !m->meta &&
	       !((flagged[INV_FLAG_TIMESTAMP] | flagged[INV_FLAG_STRICT] |
		  flagged[INV_FLAG_MONOTONIC] | flagged[INV_FLAG_ARITY] |
		  flagged[INV_FLAG_SCHEDULER_ID]) >>
			 slot &
		 1);
}

/* Returns the message for the slot's session. If value is 0, all sessions for
 * which is_bare() is true share one message. */
static ERL_NIF_TERM message(struct inv_message *m, uint32_t slot,
			    ERL_NIF_TERM value)
{
	if (value || !is_bare(m, slot))
		return compose(m, slot, value);
	if (!m->bare)
		m->bare = compose(m, slot, 0);
	return m->bare;
}

/*
 * Records that a call was meta traced for a tracer that is dead. Does not
 * record ends of calls: the VM, too, removes a dead meta tracer only at a call.
 */
static void miss(const struct inv_message *m, uint32_t tracer)
{
	if (m->meta && m->tag->kind == INV_KIND_CALL)
		inv_engine_tracer_miss(tracer);
}

static void send_to(struct inv_message *m, uint32_t slot, uint32_t tracer,
		    ERL_NIF_TERM value)
{
	const struct inv_engine_tracer *t = inv_engine_tracer_at(tracer);

	switch (inv_engine_tracer_kind(t)) {
	case INV_ENGINE_TRACER_NONE:
		miss(m, tracer);
		break;
	case INV_ENGINE_TRACER_OURS:
		switch (inv_ours_take(&t->ours, m, slot, value)) {
		case INV_TRACER_GONE:
			inv_engine_tracer_lost(m->env, tracer);
			break;
		case INV_TRACER_HELD:
			inv_held_mark(m->tracee, slot);
			break;
		case INV_TRACER_TOOK:
			break;
		}
		break;
	case INV_ENGINE_TRACER_PROCESS:
	case INV_ENGINE_TRACER_PORT:
		if (t->term != m->tracee &&
		    !inv_engine_tracer_send(m->env, t, message(m, slot, value)))
			miss(m, tracer);
	}
}

void inv_message_send(struct inv_message *m, uint32_t slot, ERL_NIF_TERM value)
{
	uint32_t tracer;

	if (!inv_session_tracer(slot, m->birth, &tracer))
		return;
	if (!tracer)
		tracer = m->meta ? m->tracer : m->before->tracer[slot];
	send_to(m, slot, tracer, value);
}
