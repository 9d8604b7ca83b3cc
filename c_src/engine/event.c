/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/event.h"

#include <stdbool.h>
#include <stdint.h>

#include "engine/flag.h"
#include "engine/message.h"
#include "engine/profile.h"
#include "engine/session.h"
#include "engine/tracee.h"

static ERL_NIF_TERM am_discard;
static ERL_NIF_TERM am_extra;
static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_inviso;
static ERL_NIF_TERM am_match_spec_result;
static ERL_NIF_TERM am_remove;
static ERL_NIF_TERM am_trace;
static ERL_NIF_TERM am_true;

void inv_engine_event_init(ErlNifEnv *env)
{
	am_discard = enif_make_atom(env, "discard");
	am_extra = enif_make_atom(env, "extra");
	am_false = enif_make_atom(env, "false");
	am_inviso = enif_make_atom(env, "$inviso_engine");
	am_match_spec_result = enif_make_atom(env, "match_spec_result");
	am_remove = enif_make_atom(env, "remove");
	am_trace = enif_make_atom(env, "trace");
	am_true = enif_make_atom(env, "true");
}

static const struct inv_profile *profile_of(ERL_NIF_TERM pid)
{
	const struct inv_tracee *t = inv_tracee_find(pid);

	return inv_profile_at(t ? inv_tracee_profile(t) : 0);
}

/*
 * Whether any session traces this process at all.  For the flags of processes
 * that will be, the VM asks without one.
 */
static bool wanted(ErlNifEnv *env, ERL_NIF_TERM pid)
{
	const struct inv_tracee *t = inv_tracee_find(pid);

	return t ? inv_tracee_profile(t) != 0 : !enif_is_pid(env, pid);
}

ERL_NIF_TERM inv_engine_enabled(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	const struct inv_tag *tag = inv_tag_find(argv[0]);
	uint32_t alive = inv_sessions_alive();

	(void)argc;
	if (!tag)
		return am_discard;
	if (tag->kind == INV_KIND_STATUS)
		return alive && wanted(env, argv[2]) ? am_trace : am_remove;
	/* A new process, which `trace` will make acquaintance with. */
	if (tag->kind == INV_KIND_SPAWNED && alive)
		return am_trace;
	return profile_of(argv[2])->sessions[tag->flag] & alive ? am_trace :
								  am_discard;
}

/* What a match spec made of an event. */
struct verdict {
	uint32_t sessions;
	uint32_t valued;
	struct inv_frame frame;
	const ERL_NIF_TERM *values;
	int values_len;
};

static bool read_verdict(ErlNifEnv *env, ERL_NIF_TERM opts, struct verdict *v)
{
	const ERL_NIF_TERM *e;
	ERL_NIF_TERM result;
	int n;

	*v = (struct verdict){ .sessions = UINT32_MAX };
	if (!enif_get_map_value(env, opts, am_match_spec_result, &result))
		return true;
	if (!enif_get_tuple(env, result, &n, &e) || n < 4 ||
	    !enif_get_uint(env, e[0], &v->sessions) ||
	    !enif_get_uint(env, e[1], &v->valued) ||
	    !enif_get_uint(env, e[2], &v->frame.returns) ||
	    !enif_get_uint(env, e[3], &v->frame.exceptions))
		return false;
	v->values = e + 4;
	v->values_len = n - 4;
	return true;
}

/* The value of a session, taken in the order of the sessions; 0: none. */
static ERL_NIF_TERM next_value(struct verdict *v, uint32_t slot)
{
	if (!(v->valued >> slot & 1) || v->values_len == 0)
		return 0;
	v->values_len--;
	return *v->values++;
}

static void send_all(const struct inv_message *m, struct verdict *v,
		     uint32_t mask)
{
	uint32_t left;

	mask &= v->sessions;
	for (left = mask | v->valued; left != 0; left &= left - 1) {
		uint32_t slot = (uint32_t)__builtin_ctz(left);
		ERL_NIF_TERM value = next_value(v, slot);

		if ((mask >> slot & 1) && value != am_false)
			inv_message_send(m, slot, value == am_true ? 0 : value);
	}
}

/* The VM has put a frame on the process' stack if any session wants the end. */
static void on_call(const struct inv_message *m, struct verdict *v,
		    uint32_t mask)
{
	struct inv_tracee *t = inv_tracee_find(m->tracee);

	if (t && (v->frame.returns | v->frame.exceptions) != 0) {
		v->frame.returns &= mask;
		v->frame.exceptions &= mask;
		v->frame.birth = inv_sessions_birth();
		(void)inv_frames_push(inv_tracee_frames(t), &v->frame);
	}
	send_all(m, v, mask & ~m->profile->sessions[INV_FLAG_SILENT]);
}

static void on_end(const struct inv_message *m, uint32_t mask)
{
	struct inv_tracee *t = inv_tracee_find(m->tracee);
	struct inv_frame frame;
	uint32_t left;

	if (!t || !inv_frames_pop(inv_tracee_frames(t), &frame))
		return;
	mask &= m->tag->kind == INV_KIND_RETURN ? frame.returns :
						  frame.exceptions;
	mask &= ~m->profile->sessions[INV_FLAG_SILENT];
	for (left = mask; left != 0; left &= left - 1) {
		uint32_t slot = (uint32_t)__builtin_ctz(left);

		/* Its slot was another's when the function was called. */
		if (inv_session_at(slot)->birth <= frame.birth)
			inv_message_send(m, slot, 0);
	}
}

/*
 * What a new process has of its parent's flags, and what the parent keeps.  The
 * parent runs this before the child ever runs.
 */
static void inherit(ERL_NIF_TERM child, ERL_NIF_TERM parent)
{
	struct inv_tracee *t = inv_tracee_find(parent);
	uint32_t number = t ? inv_tracee_profile(t) : 0;
	struct inv_profile *p = inv_profile_at(number);

	(void)inv_tracee_change(child, 0, atomic_load(&p->child));
	if (p->after != number)
		(void)inv_tracee_change(parent, number, p->after);
}

/* A request to the server, or its answer: no session would have them. */
static bool is_own(const struct inv_message *m)
{
	const ERL_NIF_TERM *e;
	int n;

	return (m->tag->flag == INV_FLAG_SEND ||
		m->tag->flag == INV_FLAG_RECEIVE) &&
	       enif_get_tuple(m->env, m->content, &n, &e) && n > 0 &&
	       e[0] == am_inviso;
}

static void on_event(struct inv_message *m, ERL_NIF_TERM opts)
{
	struct verdict v;
	uint32_t mask;

	if (m->tag->kind == INV_KIND_SPAWNED)
		inherit(m->tracee, m->content);
	m->profile = profile_of(m->tracee);
	mask = m->profile->sessions[m->tag->flag] & inv_sessions_alive();
	if (m->tag->kind == INV_KIND_RETURN ||
	    m->tag->kind == INV_KIND_EXCEPTION) {
		on_end(m, mask);
		return;
	}
	if (!read_verdict(m->env, opts, &v))
		return;
	if (m->tag->kind == INV_KIND_CALL)
		on_call(m, &v, mask);
	else if (mask != 0 && !is_own(m))
		send_all(m, &v, mask);
}

ERL_NIF_TERM inv_engine_trace(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_message m = {
		.env = env,
		.tag = inv_tag_find(argv[0]),
		.tracee = argv[2],
		.content = argv[3],
	};

	(void)argc;
	if (!m.tag || m.tag->flag == INV_FLAG_NONE)
		return am_discard;
	if (!enif_get_map_value(env, argv[4], am_extra, &m.extra))
		m.extra = 0;
	on_event(&m, argv[4]);
	return am_discard;
}
