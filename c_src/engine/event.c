/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/event.h"

#include <stdbool.h>
#include <stdint.h>

#include "engine/action.h"
#include "engine/call.h"
#include "engine/flag.h"
#include "engine/held.h"
#include "engine/inherit.h"
#include "engine/message.h"
#include "engine/profile.h"
#include "engine/session.h"
#include "engine/tracee.h"
#include "engine/verdict.h"

static ERL_NIF_TERM am_discard;
static ERL_NIF_TERM am_extra;
static ERL_NIF_TERM am_inviso;
static ERL_NIF_TERM am_remove;
static ERL_NIF_TERM am_scheduler_id;
static ERL_NIF_TERM am_trace;
static const struct inv_engine_tag *getting_linked;
static ERL_NIF_TERM meta; /* INV_ENGINE_META as a term */

void inv_engine_event_init(ErlNifEnv *env)
{
	meta = enif_make_uint(env, INV_ENGINE_META);
	am_discard = enif_make_atom(env, "discard");
	am_extra = enif_make_atom(env, "extra");
	am_inviso = enif_make_atom(env, "$inviso_engine");
	am_remove = enif_make_atom(env, "remove");
	am_scheduler_id = enif_make_atom(env, "scheduler_id");
	am_trace = enif_make_atom(env, "trace");
	getting_linked =
		inv_engine_tag_find(enif_make_atom(env, "getting_linked"));
}

static const struct inv_profile *profile_of(ERL_NIF_TERM id)
{
	return inv_profile_at(inv_tracee_profile_of(id));
}

/*
 * Returns the sessions that do not want this event, because it is a sent or
 * received message, and their pattern for such messages is `false'.  Patterns
 * do not apply to messages that a port receives.
 */
static uint32_t quiet(const struct inv_engine_tag *tag, bool port)
{
	if ((port ? tag->of_port : tag->flag) == INV_FLAG_SEND)
		return inv_sessions_no_send();
	return !port && tag->flag == INV_FLAG_RECEIVE ?
		       inv_sessions_no_receive() :
		       0;
}

static uint32_t sessions_for(const struct inv_profile *p,
			     const struct inv_engine_tag *tag, ERL_NIF_TERM id)
{
	bool port = inv_tracee_is_port(id);

	return inv_profile_wants(p, tag, port) & inv_sessions_alive() &
	       ~quiet(tag, port);
}

/* Returns true if the process's call is left out, because the process has
 * reached a tracer's limit on open calls (held.h). */
static bool is_held(ERL_NIF_TERM id, uint32_t sessions)
{
	struct inv_tracee *t = inv_tracee_find(id);

	return t && atomic_load_explicit(&t->held, memory_order_relaxed) != 0 &&
	       inv_held(t, id, sessions);
}

/*
 * Returns true if at least one session wants the event, or if the event makes a
 * process inherit flags.
 */
static bool wanted_event(const struct inv_engine_tag *tag, ERL_NIF_TERM id)
{
	const struct inv_profile *p = profile_of(id);
	uint32_t sessions = sessions_for(p, tag, id);

	if (sessions != 0 && tag->kind == INV_KIND_CALL) {
		/* If a session's tracer does not let the call begin a request,
		 * the session does not count here. If no other session wants
		 * the call, the result is `discard': the VM then does not run
		 * the match spec, which would set a token. */
		if (sessions & inv_sessions_starting())
			sessions &= ~inv_held_starts(sessions, id);
		return sessions != 0 && !is_held(id, sessions);
	}
	return sessions != 0 ||
	       (tag->kind == INV_KIND_SPAWN && inv_inherit_spawns(p)) ||
	       ((tag->kind == INV_KIND_SPAWN || tag->kind == INV_KIND_LINK) &&
		inv_inherit_links(p));
}

/* Returns true if the event says that a process or port is new. */
static bool is_new(const struct inv_engine_tag *tag)
{
	return tag->kind == INV_KIND_SPAWNED || tag->kind == INV_KIND_OPEN;
}

/*
 * Returns the result of enabled/3 for the tag trace_status. If it is `remove',
 * the VM removes the tracer from the process or port. For future processes,
 * `id' is an atom.
 *
 * For a process the result is never `remove'; the server removes its tracer.
 * The reason is a bug of OTP 25, which also calls enabled/3 while the process
 * handles its signals, for erlang:trace_info/2. If the result were `remove',
 * the VM would still assume that `receive' is traced. It would then call the
 * missing tracer for the next message in the queue, which crashes the node.
 */
static ERL_NIF_TERM status(ErlNifEnv *env, ERL_NIF_TERM id, uint32_t alive)
{
	if (enif_is_atom(env, id))
		return alive ? am_trace : am_remove;
	if (!inv_tracee_is_port(id))
		return am_discard;
	return alive && inv_tracee_profile_of(id) != 0 ? am_trace : am_remove;
}

ERL_NIF_TERM inv_engine_enabled(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	const struct inv_engine_tag *tag = inv_engine_tag_find(argv[0]);
	uint32_t alive = inv_sessions_alive();

	(void)argc;
	if (!tag)
		return am_discard;
	/*
	 * For a meta traced function never return `remove': the function would
	 * stay traced in the VM, but without a tracer.
	 */
	if (argv[1] == meta)
		return alive ? am_trace : am_discard;
	if (tag->kind == INV_KIND_STATUS)
		return status(env, argv[2], alive);
	return is_new(tag) || (alive && wanted_event(tag, argv[2])) ?
		       am_trace :
		       am_discard;
}

/*
 * Returns true for a request to the engine's server or the server's reply. No
 * session may get an event about such a message.
 */
static bool is_own(const struct inv_message *m)
{
	const ERL_NIF_TERM *e;
	int n;

	return (m->tag->flag == INV_FLAG_SEND ||
		m->tag->flag == INV_FLAG_RECEIVE) &&
	       enif_get_tuple(m->env, m->content, &n, &e) && n > 0 &&
	       e[0] == am_inviso;
}

/*
 * Sends the event getting_linked that belongs to the event `link'. The VM does
 * not report getting_linked, because the process at the other end of the link
 * was not traced before.
 */
static void tell_linked(const struct inv_message *link)
{
	struct inv_message m = *link;
	struct inv_verdict v;

	m.tag = getting_linked;
	m.tracee = link->content;
	m.content = link->tracee;
	m.bare = 0;
	m.profile = profile_of(m.tracee);
	m.before = m.profile;
	inv_verdict_none(&v);
	inv_verdict_send(&m, &v, sessions_for(m.profile, m.tag, m.tracee));
}

/*
 * For a spawn, link or open event, passes flags on to the new or linked tracee.
 * Returns false if the engine has already reported the event.
 */
static bool inherit(const struct inv_message *m)
{
	switch (m->tag->kind) {
	case INV_KIND_SPAWN:
		inv_inherit_spawn(m->env, m->tracee, m->content);
		break;
	case INV_KIND_SPAWNED:
		inv_inherit_spawned(m->env, m->tracee, m->content);
		break;
	case INV_KIND_LINK:
		if (inv_inherit_link(m->env, m->tracee, m->content))
			tell_linked(m);
		break;
	case INV_KIND_LINKED:
		return inv_inherit_linked(m->tracee, m->content);
	case INV_KIND_OPEN:
		inv_inherit_open(m->tracee);
		break;
	default:
		break;
	}
	return true;
}

/*
 * Sends an event that is not a call to the sessions of the mask.  Runs the
 * actions of match specs first.
 */
static void tell(struct inv_message *m, struct inv_verdict *v, uint32_t mask)
{
	if (v->actions) {
		inv_actions_run(m, v->actions, mask);
		m->profile = profile_of(m->tracee);
	}
	mask &= ~(v->specs & m->profile->sessions[INV_FLAG_SILENT]);
	inv_verdict_send(m, v, mask);
}

static void on_event(struct inv_message *m, ERL_NIF_TERM opts)
{
	struct inv_verdict v;
	uint32_t mask;

	if (!inherit(m))
		return;
	m->profile = profile_of(m->tracee);
	m->before = m->profile;
	mask = m->meta ? inv_sessions_alive() :
			 sessions_for(m->profile, m->tag, m->tracee);
	if (m->tag->kind == INV_KIND_RETURN ||
	    m->tag->kind == INV_KIND_EXCEPTION) {
		inv_call_end(m, mask);
		return;
	}
	if (m->tag->kind == INV_KIND_RETURN_TO) {
		inv_call_return_to(m, mask);
		return;
	}
	if (!inv_verdict_read(m->env, opts, &v))
		return;
	if (m->tag->kind == INV_KIND_CALL)
		inv_call_begin(m, &v, mask);
	else if (mask != 0 && !is_own(m))
		tell(m, &v, mask);
}

ERL_NIF_TERM inv_engine_trace(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_message m = {
		.env = env,
		.tag = inv_engine_tag_find(argv[0]),
		.opts = argv[4],
		.tracee = argv[2],
		.content = argv[3],
		.meta = argv[1] == meta,
		.birth = inv_sessions_birth(),
	};

	(void)argc;
	if (!m.tag || m.tag->kind == INV_KIND_STATUS)
		return am_discard;
	if (!enif_get_map_value(env, argv[4], am_extra, &m.extra))
		m.extra = 0;
	if (!enif_get_map_value(env, argv[4], am_scheduler_id, &m.scheduler))
		m.scheduler = 0;
	on_event(&m, argv[4]);
	return am_discard;
}
