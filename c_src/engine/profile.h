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
 * A profile never changes. If the flags on a tracee change, it gets another
 * profile: the calling thread searches the table for a profile with the new
 * contents, and adds one if there is none. Profiles are removed only when the
 * engine's server is started again: the new server empties the table.
 */
#define INV_PROFILES_MAX 65536
#define INV_PROFILE_NONE UINT32_MAX /* no profile: the table is full */

#define INV_PROFILE_SESSIONS 32

struct inv_profile {
	/*
	 * sessions[flag] is the mask of the sessions that have set the flag.
	 * There is also an element for INV_FLAG_USED_UP, and an element for
	 * INV_FLAG_NONE, which is always 0.
	 */
	uint32_t sessions[INV_FLAGS + 2];
	/*
	 * tracer[slot] is the number of the tracer that the slot's session uses
	 * for this tracee; 0 if the session has a tracer of its own, or no
	 * flags on this tracee.
	 */
	uint16_t tracer[INV_PROFILE_SESSIONS];
	_Atomic uint64_t child; /* caches the result of inv_profile_child() */
};

/*
 * How a session changes a profile.  `clear' and `set' are sets of flags, as
 * bits. First the flags in `clear' are cleared, then those in `set' are set.
 */
struct inv_edit {
	uint32_t slot;
	uint32_t clear;
	uint32_t set;
	uint16_t tracer; /* number of the tracer to set;
			    INV_ENGINE_TRACER_AS_IT_IS: the tracer stays the
			    same */
#define INV_ENGINE_TRACER_AS_IT_IS UINT16_MAX
};

/* Kinds of future tracees. A new process or port that inherits no flags from a
 * traced process gets the profile of its kind. */
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
 * Returns the mask of the sessions that have set at least one flag, or for
 * which the profile has INV_FLAG_USED_UP.
 */
uint32_t inv_profile_sessions(const struct inv_profile *p);

/*
 * Returns the sessions that want events with this tag, of a port if `port' is
 * true, otherwise of a process.
 */
static inline uint32_t inv_profile_wants(const struct inv_profile *p,
					 const struct inv_engine_tag *tag,
					 bool port)
{
	return port ? p->sessions[tag->of_port] :
		      p->sessions[tag->flag] | p->sessions[tag->another];
}

/*
 * These functions return the number of a profile, or INV_PROFILE_NONE if the
 * table is full. `number' is the profile of the process that an edit changes,
 * or that spawns or links.
 *
 * inv_profile_edit          the profile after the edit
 * inv_profile_child         the profile of the spawned process
 * inv_profile_after_spawn   the profile of the spawning process afterwards
 * inv_profile_linked        the new profile of the process to which the process
 *                           links; its profile before is `other'
 * inv_profile_spawn_linked  the new profile of a child that was spawned by
 *                           spawn_link: the flags that are passed on by the
 *                           link replace the flags of the profile `child'
 * inv_profile_after_link    the profile of the linking process afterwards
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
