/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_PROFILE_H
#define INV_ENGINE_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/flag.h"

/*
 * Which flags which sessions have set: the same for many processes and ports,
 * hence kept once and numbered.  Profile 0 has none.
 *
 * A profile never changes.  What an edit makes of one is another, looked up by
 * what it is and entered where there is none yet, from any thread: a table that
 * only grows, and that is emptied when the engine starts anew.
 */
#define INV_PROFILES_MAX 65536
#define INV_PROFILE_NONE UINT32_MAX /* there is no room for another */

#define INV_PROFILE_SESSIONS 32

struct inv_profile {
	/* By flag, up to INV_FLAG_USED_UP; INV_FLAG_NONE: none. */
	uint32_t sessions[INV_FLAGS + 2];
	/* By session, 0: its own.  Of sessions that have no flag it is 0. */
	uint16_t tracer[INV_PROFILE_SESSIONS];
	_Atomic uint64_t child; /* found when it is first asked for */
};

/* What a session changes.  Flags are bits; `set' goes after `clear'. */
struct inv_edit {
	uint32_t slot;
	uint32_t clear;
	uint32_t set;
	uint16_t tracer; /* or as it is: */
#define INV_ENGINE_TRACER_AS_IT_IS UINT16_MAX
};

/* The new ones that nobody traced has made have profiles too. */
enum inv_new {
	INV_NEW_PROCESSES,
	INV_NEW_PORTS,
	INV_NEWS
};

/* 0, or -1: no memory. */
int inv_profiles_init(void);
void inv_profiles_end(void);

/* Forgets all but profile 0, and what new ones have. */
void inv_profiles_clear(void);

const struct inv_profile *inv_profile_at(uint32_t number);

/* The sessions that have set any flag, or had one that was used up. */
uint32_t inv_profile_sessions(const struct inv_profile *p);

/* The sessions that want such an event of a process, or of a port. */
static inline uint32_t inv_profile_wants(const struct inv_profile *p,
					 const struct inv_engine_tag *tag,
					 bool port)
{
	return port ? p->sessions[tag->of_port] :
		      p->sessions[tag->flag] | p->sessions[tag->another];
}

/*
 * Numbers of profiles, or INV_PROFILE_NONE: what an edit makes of one; those of
 * a process spawned by one that has it, and of the spawning process after that;
 * those of a process `other' that one that has it has linked to, or has spawned
 * with a link, where what is passed on replaces what the child had; and of the
 * linking process after that.
 */
uint32_t inv_profile_edit(uint32_t number, const struct inv_edit *edit);
uint32_t inv_profile_child(uint32_t number);
uint32_t inv_profile_after_spawn(uint32_t number);
uint32_t inv_profile_linked(uint32_t other, uint32_t number);
uint32_t inv_profile_spawn_linked(uint32_t child, uint32_t number);
uint32_t inv_profile_after_link(uint32_t number);

uint32_t inv_profile_of_new(enum inv_new what);
/* The server alone does so. */
void inv_profile_set_new(enum inv_new what, uint32_t number);

#endif
