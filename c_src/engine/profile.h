/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_PROFILE_H
#define INV_ENGINE_PROFILE_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/flag.h"

/*
 * Which flags which sessions have set: the same for many processes, hence
 * kept once and numbered.  Profile 0 has none.  What becomes of the flags when
 * a process spawns is a property of the profile, found out beforehand, so that
 * a callback has nothing to compute.
 *
 * The server defines profiles; callbacks read.  A profile is never changed but
 * for `child`, and lives until the engine starts anew.
 */
#define INV_PROFILES_MAX 65536

struct inv_profile {
	uint32_t sessions[INV_FLAGS]; /* that have set the flag, by flag */
	_Atomic uint32_t child;	      /* profile of a process spawned */
	uint32_t after;		      /* profile of the parent after that */
};

/* 0, or -1: no memory. */
int inv_profiles_init(void);
void inv_profiles_end(void);

/* Forgets all but profile 0. */
void inv_profiles_clear(void);

/* For the number: one that is not in use anywhere. */
struct inv_profile *inv_profile_at(uint32_t number);

#endif
