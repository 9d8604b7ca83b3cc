/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/profile.h"

#include "engine/pages.h"

#define BYTES (INV_PROFILES_MAX * sizeof(struct inv_profile))

static struct inv_profile *profiles;

int inv_profiles_init(void)
{
	profiles = inv_pages_map(BYTES);
	return profiles ? 0 : -1;
}

void inv_profiles_end(void)
{
	inv_pages_unmap(profiles, BYTES);
	profiles = NULL;
}

void inv_profiles_clear(void)
{
	inv_pages_clear(profiles, BYTES);
}

struct inv_profile *inv_profile_at(uint32_t number)
{
	return &profiles[number];
}
