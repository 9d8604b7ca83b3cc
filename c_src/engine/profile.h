/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_PROFILE_H
#define INV_ENGINE_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/flag.h"

/*
 * A profile is the set of flags of all sessions on a tracee. Many tracees have
 * equal profiles, so each profile is stored once, under a number. Profile 0 has
 * no flags.
 *
 * A profile never changes. An edit gives the tracee another profile: the thread
 * searches the table for a profile with the new contents, and adds one if there
 * is none. The table only grows; when a new server starts, it is emptied.
 */
#define INV_PROFILES_MAX 65536
#define INV_PROFILE_NONE UINT32_MAX /* no room for another profile */

#define INV_PROFILE_SESSIONS 32

struct inv_profile {
	/*
	 * For each flag, the sessions that have set it. INV_FLAG_USED_UP has an
	 * element, too; the element of INV_FLAG_NONE is 0.
	 */
	uint32_t sessions[INV_FLAGS + 2];
	/*
	 * For each session, the tracer's number; 0 if the session has a tracer
	 * of its own or no flags.
	 */
	uint16_t tracer[INV_PROFILE_SESSIONS];
	_Atomic uint64_t child; /* a cache for inv_profile_child() */
};

/*
 * A change of a profile by a session.  Flags are bits; `clear' is applied
 * before `set'.
 */
struct inv_edit {
	uint32_t slot;
	uint32_t clear;
	uint32_t set;
	uint16_t tracer; /* INV_ENGINE_TRACER_AS_IT_IS: unchanged */
#define INV_ENGINE_TRACER_AS_IT_IS UINT16_MAX
};

/* Kinds of new tracees without a traced parent. Each kind has a profile. */
enum inv_new {
	INV_NEW_PROCESSES,
	INV_NEW_PORTS,
	INV_NEWS
};

/* Returns 0, or -1 if memory is exhausted. */
int inv_profiles_init(void);
void inv_profiles_end(void);

/*
 * Removes all profiles except profile 0. New processes and ports then get
 * profile 0.
 */
void inv_profiles_clear(void);

const struct inv_profile *inv_profile_at(uint32_t number);

/*
 * Returns the sessions that have set any flag, or whose last flag was used up.
 */
uint32_t inv_profile_sessions(const struct inv_profile *p);

/*
 * Returns the sessions that want events with this tag, of a process or of a
 * port.
 */
static inline uint32_t inv_profile_wants(const struct inv_profile *p,
					 const struct inv_engine_tag *tag,
					 bool port)
{
	return port ? p->sessions[tag->of_port] :
		      p->sessions[tag->flag] | p->sessions[tag->another];
}

/*
 * Each returns the number of a profile, or INV_PROFILE_NONE if the table is
 * full.
 *
 * inv_profile_edit: the profile after an edit. inv_profile_child: the profile
 * of a process that a process with profile `number' spawns.
 * inv_profile_after_spawn: the profile of the spawning process after the spawn.
 * inv_profile_linked: the new profile of a process with profile `other' to
 * which a process with profile `number' has linked. inv_profile_spawn_linked:
 * the same for a link that is part of a spawn; the flags that are passed on
 * replace the child's. inv_profile_after_link: the profile of the linking
 * process after the link.
 */
uint32_t inv_profile_edit(uint32_t number, const struct inv_edit *edit);
uint32_t inv_profile_child(uint32_t number);
uint32_t inv_profile_after_spawn(uint32_t number);
uint32_t inv_profile_linked(uint32_t other, uint32_t number);
uint32_t inv_profile_spawn_linked(uint32_t child, uint32_t number);
uint32_t inv_profile_after_link(uint32_t number);

uint32_t inv_profile_of_new(enum inv_new what);
/* Only the server calls this. */
void inv_profile_set_new(enum inv_new what, uint32_t number);

#endif
