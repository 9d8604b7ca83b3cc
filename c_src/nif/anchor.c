/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/anchor.h"

#include <erl_nif.h>

#include "base/clock.h"

/*
 * Reads all clocks several times, and returns the attempt that took the least
 * time.
 */
struct inv_anchor inv_anchor_take(void)
{
	struct inv_anchor best = { 0 };
	uint64_t least = UINT64_MAX;
	int i;

	for (i = 0; i < 4; i++) {
		uint64_t before = inv_mono_ns();
		int64_t erl = enif_monotonic_time(ERL_NIF_NSEC);
		int64_t real = (int64_t)inv_real_ns();
		uint64_t raw = inv_clock_ns(CLOCK_MONOTONIC_RAW);
		uint64_t after = inv_mono_ns();

		if (after - before >= least)
			continue;
		least = after - before;
		best.mono = before + least / 2;
		best.erl = erl;
		best.real = real;
		best.raw = raw;
	}
	best.offset = enif_time_offset(ERL_NIF_NSEC);
	return best;
}
