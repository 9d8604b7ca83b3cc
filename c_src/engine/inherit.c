/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/inherit.h"

#include <stddef.h>
#include <stdint.h>

#include "engine/session.h"
#include "engine/tracee.h"
#include "engine/tracer.h"

static ERL_NIF_TERM am_linked;

void inv_inherit_init(ErlNifEnv *env)
{
	am_linked = enif_make_atom(env, "linked");
}

/* A new one: whatever its place says is of one that is dead. */
static void born(ERL_NIF_TERM id, uint32_t profile)
{
	if (profile == INV_PROFILE_NONE)
		profile = 0;
	if (profile != 0 || inv_tracee_find(id))
		inv_tracee_born(id, profile);
}

static uint32_t profile_of(const struct inv_tracee *t)
{
	return t ? inv_tracee_profile(t) : 0;
}

/*
 * Its profile is another now that it has passed something on; the server may
 * change it meanwhile.
 */
static void change(struct inv_tracee *t, uint32_t (*after)(uint32_t))
{
	uint32_t from;
	uint32_t to;

	do {
		from = inv_tracee_profile(t);
		to = after(from);
	} while (to != INV_PROFILE_NONE && !inv_tracee_change(t, from, to));
}

static void pass_to_child(struct inv_tracee *parent, ERL_NIF_TERM child)
{
	born(child, inv_profile_child(profile_of(parent)));
	if (parent)
		change(parent, inv_profile_after_spawn);
}

void inv_inherit_spawn(ERL_NIF_TERM parent, ERL_NIF_TERM child)
{
	struct inv_tracee *t = inv_tracee_find(parent);

	pass_to_child(t, child);
	if (t)
		t->child = child;
}

void inv_inherit_spawned(ERL_NIF_TERM child, ERL_NIF_TERM parent)
{
	struct inv_tracee *t = inv_tracee_find(parent);

	if (!t || t->child != child)
		pass_to_child(t, child);
	if (t)
		t->child = 0;
}

void inv_inherit_open(ERL_NIF_TERM port)
{
	born(port, inv_profile_of_new(INV_NEW_PORTS));
}

bool inv_inherit_spawns(const struct inv_profile *p)
{
	return (p->sessions[INV_FLAG_ON_SPAWN] |
		p->sessions[INV_FLAG_ON_FIRST_SPAWN]) != 0;
}

static uint32_t linking(const struct inv_profile *p)
{
	return p->sessions[INV_FLAG_ON_LINK] |
	       p->sessions[INV_FLAG_ON_FIRST_LINK];
}

bool inv_inherit_links(const struct inv_profile *p)
{
	return linking(p) != 0;
}

/* False: it has them already. */
static bool pass_to_linked(ERL_NIF_TERM other, uint32_t number)
{
	struct inv_tracee *t = inv_tracee_get(other);
	uint32_t from;
	uint32_t to;

	if (!t)
		return false;
	do {
		from = inv_tracee_profile(t);
		to = inv_profile_linked(from, number);
	} while (to != INV_PROFILE_NONE && !inv_tracee_change(t, from, to));
	return to != INV_PROFILE_NONE && to != from;
}

void inv_inherit_link(ErlNifEnv *env, ERL_NIF_TERM pid, ERL_NIF_TERM other)
{
	struct inv_tracee *t = inv_tracee_find(pid);
	uint32_t number = profile_of(t);
	uint32_t sessions = linking(inv_profile_at(number));
	ErlNifPid local;

	if (sessions == 0 || !enif_get_local_pid(env, other, &local))
		return;
	if (pass_to_linked(other, number) && (sessions & inv_sessions_alive()))
		inv_tracer_tell(env, am_linked, other);
	change(t, inv_profile_after_link);
}
