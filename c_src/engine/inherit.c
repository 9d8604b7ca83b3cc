/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/inherit.h"

#include <stddef.h>
#include <stdint.h>

#include "engine/session.h"
#include "engine/tracee.h"
#include "engine/tracer.h"

static uint32_t linking(const struct inv_profile *p)
{
	return p->sessions[INV_FLAG_ON_LINK] |
	       p->sessions[INV_FLAG_ON_FIRST_LINK];
}

/*
 * Gives a new tracee its entry. Does nothing if the tracee needs none: it has
 * no flags, and there is no old data in the entry.
 */
static void born(ERL_NIF_TERM id, uint32_t profile, uint32_t expected)
{
	if (profile == INV_PROFILE_NONE)
		profile = 0;
	if (profile != 0 || expected != 0 || inv_tracee_find(id) ||
	    inv_tracee_profile_of(id) != 0)
		inv_tracee_born(id, profile, expected);
}

static uint32_t profile_of(const struct inv_tracee *t)
{
	return t ? inv_tracee_profile(t) : 0;
}

/*
 * Changes the profile of a process that has passed on flags: clears
 * set_on_first_spawn or set_on_first_link, which apply only once. Repeats this
 * if another thread has changed the profile meanwhile. Returns false if the
 * profile stays the same.
 */
static bool change(struct inv_tracee *t, uint32_t (*after)(uint32_t))
{
	uint32_t from;
	uint32_t to;

	do {
		from = inv_tracee_profile(t);
		to = after(from);
		if (to == from || to == INV_PROFILE_NONE)
			return false;
	} while (!inv_tracee_change(t, from, to));
	return true;
}

static void pass_to_child(ErlNifEnv *env, struct inv_tracee *t,
			  ERL_NIF_TERM parent, ERL_NIF_TERM child)
{
	uint32_t number = profile_of(t);

	born(child, inv_profile_child(number), linking(inv_profile_at(number)));
	if (t && change(t, inv_profile_after_spawn)) {
		inv_engine_tracer_changed(env, parent);
		inv_engine_tracer_changed(env, child);
	}
}

void inv_inherit_spawn(ErlNifEnv *env, ERL_NIF_TERM parent, ERL_NIF_TERM child)
{
	struct inv_tracee *t = inv_tracee_find(parent);

	pass_to_child(env, t, parent, child);
	if (t)
		t->child = child;
}

/*
 * Call this for a child that has flags in the VM, but none in its profile. The
 * parent has spawned such a child while the server was clearing the parent's
 * flags. Makes the server clear the child's flags, too.
 */
static void forget(ErlNifEnv *env, ERL_NIF_TERM child)
{
	(void)inv_tracee_get(child);
	inv_engine_tracer_changed(env, child);
}

void inv_inherit_spawned(ErlNifEnv *env, ERL_NIF_TERM child,
			 ERL_NIF_TERM parent)
{
	struct inv_tracee *t = inv_tracee_find(parent);

	if (!t || t->child != child)
		pass_to_child(env, t, parent, child);
	if (t)
		t->child = 0;
	if (inv_tracee_profile_of(child) == 0 &&
	    inv_tracee_expected(child) == 0)
		forget(env, child);
}

void inv_inherit_open(ERL_NIF_TERM port)
{
	born(port, inv_profile_of_new(INV_NEW_PORTS), 0);
}

bool inv_inherit_spawns(const struct inv_profile *p)
{
	return (p->sessions[INV_FLAG_ON_SPAWN] |
		p->sessions[INV_FLAG_ON_FIRST_SPAWN]) != 0;
}

bool inv_inherit_links(const struct inv_profile *p)
{
	return linking(p) != 0;
}

/*
 * Returns true if the VM reports events such as getting_linked for a process
 * with this profile.
 */
static bool is_told_of(uint32_t number)
{
	const struct inv_profile *p = inv_profile_at(number);

	return p->sessions[INV_FLAG_PROCS] != 0 || inv_inherit_spawns(p) ||
	       inv_inherit_links(p);
}

/*
 * Passes the flags of profile `number' on to the process `other', to which a
 * process links. Returns the profile that `other' had before, or
 * INV_PROFILE_NONE if `other' already had all these flags or the table of
 * profiles is full.
 */
static uint32_t pass_to_linked(struct inv_tracee *other, uint32_t number,
			       uint32_t (*linked)(uint32_t, uint32_t))
{
	uint32_t from;
	uint32_t to;

	do {
		from = inv_tracee_profile(other);
		to = linked(from, number);
		if (to == INV_PROFILE_NONE || to == from)
			return INV_PROFILE_NONE;
	} while (!inv_tracee_change(other, from, to));
	return from;
}

bool inv_inherit_link(ErlNifEnv *env, ERL_NIF_TERM pid, ERL_NIF_TERM other)
{
	struct inv_tracee *t = inv_tracee_find(pid);
	struct inv_tracee *o;
	uint32_t number = profile_of(t);
	ErlNifPid local;
	uint32_t had;
	bool spawned;
	bool unseen;

	if (!inv_inherit_links(inv_profile_at(number)) ||
	    !enif_get_local_pid(env, other, &local) ||
	    !enif_is_process_alive(env, &local) || !(o = inv_tracee_get(other)))
		return false;
	/*
	 * If the parent had flags to pass on by links when it spawned, the VM
	 * reports the spawn twice: for the parent, then for the child. Between
	 * these two reports, the only link of the parent that the VM reports is
	 * the link of spawn_link. So if the parent links to this child now, the
	 * parent has called spawn_link.
	 */
	spawned = t->child == other && atomic_load(&o->expected) != 0;
	had = pass_to_linked(o, number,
			     spawned ? inv_profile_spawn_linked :
				       inv_profile_linked);
	unseen = had != INV_PROFILE_NONE && !is_told_of(had) &&
		 atomic_load(&o->expected) == 0;
	atomic_store(&o->linked_by, unseen ? pid : 0);
	if (had != INV_PROFILE_NONE)
		inv_engine_tracer_changed(env, other);
	if (change(t, inv_profile_after_link))
		inv_engine_tracer_changed(env, pid);
	return unseen;
}

bool inv_inherit_linked(ERL_NIF_TERM other, ERL_NIF_TERM pid)
{
	struct inv_tracee *o = inv_tracee_find(other);
	uint64_t by = pid;

	return !o || !atomic_compare_exchange_strong(&o->linked_by, &by, 0);
}
