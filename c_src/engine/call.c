/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/call.h"

#include <stdbool.h>

#include "engine/action.h"
#include "engine/chain.h"
#include "engine/frames.h"
#include "engine/noted.h"
#include "engine/profile.h"
#include "engine/session.h"
#include "engine/tracee.h"

/*
 * Returns the shadow stack to which the call belongs, or NULL if the process
 * has no entry.
 */
static struct inv_frames *frames_of(const struct inv_message *m)
{
	struct inv_tracee *t = m->meta ? inv_tracee_get(m->tracee) :
					 inv_tracee_find(m->tracee);

	if (!t)
		return NULL;
	return m->meta ? &t->meta : inv_tracee_frames(t);
}

/* Returns the sessions that have set `silent' on this process. */
static uint32_t silent(const struct inv_message *m)
{
	return m->meta ? 0 : m->profile->sessions[INV_FLAG_SILENT];
}

/* Returns a hash of the function in {M, F, Args} or {M, F, Arity}, or 0 if the
 * term is neither. */
static uint32_t hash(ErlNifEnv *env, ERL_NIF_TERM mfa)
{
	const ERL_NIF_TERM *e;
	unsigned arity;
	uint64_t h;
	int n;

	if (!enif_get_tuple(env, mfa, &n, &e) || n != 3)
		return 0;
	if (!enif_get_uint(env, e[2], &arity) &&
	    !enif_get_list_length(env, e[2], &arity))
		return 0;
	h = (e[0] * 31 + e[1]) * 31 + arity;
	return (uint32_t)((h * UINT64_C(0x9e3779b97f4a7c15)) >> 32) | 1;
}

/*
 * Pushes a frame for the call, if a session wants the call's end. The VM will
 * then report the end.
 */
static void push(const struct inv_message *m, const struct inv_verdict *v,
		 uint32_t mask)
{
	struct inv_call_frame frame = v->frame;
	struct inv_frames *frames;

	if ((frame.returns | frame.exceptions) == 0)
		return;
	frames = frames_of(m);
	frame.returns &= mask;
	frame.exceptions &= mask;
	frame.birth = m->birth;
	frame.function = hash(m->env, m->content);
	if (frames)
		(void)inv_frames_push(frames, &frame);
}

/*
 * Records a call on the shadow stack for return_to, if a session has set
 * return_to on the process. The VM then also has a frame for the call on the
 * process's stack.
 */
static void link_call(const struct inv_message *m, const struct inv_verdict *v,
		      uint32_t mask)
{
	uint32_t wanted = m->profile->sessions[INV_FLAG_RETURN_TO];
	struct inv_tracee *t;

	if (m->meta || !v->caller || !wanted)
		return;
	t = inv_tracee_find(m->tracee);
	if (t)
		inv_chain_call(inv_tracee_chain(t), hash(m->env, m->content),
			       hash(m->env, v->caller),
			       mask & wanted & inv_verdict_told(v) &
				       inv_sessions_local());
}

/*
 * Returns true if the function called itself. Such a call counts as a local
 * call, because nearly all such calls are local. A global pattern does not
 * trace local calls.
 */
static bool is_recursion(const struct inv_message *m, ERL_NIF_TERM caller)
{
	const ERL_NIF_TERM *called;
	const ERL_NIF_TERM *by;
	unsigned arity;
	unsigned n_args;
	int n;

	return enif_get_tuple(m->env, m->content, &n, &called) && n == 3 &&
	       enif_get_tuple(m->env, caller, &n, &by) && n == 3 &&
	       by[0] == called[0] && by[1] == called[1] &&
	       enif_get_uint(m->env, by[2], &arity) &&
	       enif_get_list_length(m->env, called[2], &n_args) &&
	       arity == n_args;
}

void inv_call_begin(struct inv_message *m, struct inv_verdict *v, uint32_t mask)
{
	if (!v->given)
		mask &= inv_noted_sessions(m->env, m->content);
	if (v->specs != 0 && is_recursion(m, v->caller))
		mask &= ~v->specs;
	m->tracer = v->frame.tracer;
	if (v->actions) {
		inv_actions_run(m, v->actions, mask);
		m->profile = inv_profile_at(inv_tracee_profile_of(m->tracee));
	}
	mask &= ~silent(m);
	push(m, v, mask);
	link_call(m, v, mask);
	inv_verdict_send(m, v, mask);
}

/*
 * Returns true if the ended call and the call of the top frame are calls of
 * different functions. Then another tool traces the ended call with
 * erlang:trace_pattern/3.
 */
static bool is_of_other_tool(const struct inv_message *m,
			     const struct inv_frames *frames)
{
	const struct inv_call_frame *top = inv_frames_top(frames);

	return top && top->function != hash(m->env, m->content);
}

void inv_call_end(struct inv_message *m, uint32_t mask)
{
	struct inv_frames *frames = frames_of(m);
	struct inv_call_frame frame;
	uint32_t left;

	if (!frames || is_of_other_tool(m, frames) ||
	    !inv_frames_pop(frames, &frame))
		return;
	m->tracer = frame.tracer;
	mask &= m->tag->kind == INV_KIND_RETURN ? frame.returns :
						  frame.exceptions;
	for (left = mask; left != 0; left &= left - 1) {
		uint32_t slot = (uint32_t)__builtin_ctz(left);

		/* Leave out a session that was opened after the call began. */
		if (inv_session_is(slot, frame.birth))
			inv_message_send(m, slot, 0);
	}
}

void inv_call_return_to(struct inv_message *m, uint32_t mask)
{
	struct inv_tracee *t = inv_tracee_find(m->tracee);
	uint32_t calling = m->profile->sessions[INV_FLAG_CALL];

	mask &= inv_sessions_local();
	/*
	 * If a call was recorded on the shadow stack, its return is reported
	 * even if the process has no flag `call' any more.
	 */
	if (t && inv_sessions_have_callers())
		mask = inv_chain_return(inv_tracee_chain(t),
					hash(m->env, m->content), mask);
	else
		mask &= ~m->profile->sessions[INV_FLAG_SILENT] &
			(calling != 0 ? calling : mask);
	for (; mask != 0; mask &= mask - 1)
		inv_message_send(m, (uint32_t)__builtin_ctz(mask), 0);
}
