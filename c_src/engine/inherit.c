/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/inherit.h"

#include <stdint.h>

#include "engine/profile.h"
#include "engine/tracee.h"

void inv_inherit_spawned(ERL_NIF_TERM child, ERL_NIF_TERM parent)
{
	struct inv_tracee *t = inv_tracee_find(parent);
	uint32_t number = t ? inv_tracee_profile(t) : 0;
	struct inv_profile *p = inv_profile_at(number);

	(void)inv_tracee_change(child, 0, atomic_load(&p->child));
	if (p->after != number)
		(void)inv_tracee_change(parent, number, p->after);
}
