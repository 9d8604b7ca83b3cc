/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/sweep.h"

#include "spool/place.h"

#define SWEEP_MS 2000

static bool sweep_one(void *arg, const char *parent, struct inv_place *p)
{
	(void)arg;
	(void)parent;
	if (!p->has_record)
		inv_place_clear_unfinished(p);
	else if (inv_place_is_dead(p))
		inv_place_clear(p);
	return true;
}

void inv_sweep(const char *const *parents, size_t n)
{
	inv_places(parents, n, SWEEP_MS, sweep_one, NULL);
}
