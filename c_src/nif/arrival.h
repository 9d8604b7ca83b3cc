/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_ARRIVAL_H
#define INV_NIF_ARRIVAL_H

#include <erl_nif.h>
#include <stddef.h>

#include "abi/tracer_call.h"
#include "base/likely.h"
#include "nif/atoms.h"
#include "nif/thread.h"

/*
 * An event as a callback gets it. The VM passes some of its fields in a map.
 * The map is read only when one of these fields is needed: counting or timing a
 * call usually needs none.
 */
struct inv_arrival {
	struct inv_tracer_event te;
	ERL_NIF_TERM opts; /* the map; 0: no map, or it was read already */
};

enum inv_outcome {
	INV_TAKEN, /* the event was recorded, delivered, left out because it is
		    * not wanted, or dropped and counted */
	INV_HELD,  /* like INV_TAKEN; from now on the process's calls are left
		    * out (`held' in nif/bound.h) */
	INV_GONE,  /* there is no such tracer */
	INV_BAD	   /* the arguments are not an event */
};

/* Reads the fields of an event that are in the map `opts': at most four. */
static inline void inv_arrival_read(struct inv_tracer_event *te,
				    ERL_NIF_TERM opts)
{
	size_t n = 0;

	if (!enif_get_map_size(te->env, opts, &n))
		return;
	if (n > 0 &&
	    enif_get_map_value(te->env, opts, inv_am_extra, &te->extra))
		n--;
	if (n > 0 &&
	    enif_get_map_value(te->env, opts, inv_am_timestamp, &te->timestamp))
		n--;
	if (n > 0 && enif_get_map_value(te->env, opts, inv_am_match_spec_result,
					&te->value))
		n--;
	if (n > 0)
		enif_get_map_value(te->env, opts, inv_am_scheduler_id,
				   &te->scheduler);
}

/* Returns the event with all its fields. */
static inline const struct inv_tracer_event *inv_arrival_whole(
	struct inv_arrival *a)
{
	if (a->opts) {
		inv_arrival_read(&a->te, a->opts);
		a->opts = 0;
	}
	return &a->te;
}

/* Returns the time of the event. If the engine passes the event to several
 * tracers, the first tracer reads the clock and stores the time in *te.time for
 * the others, so that all sessions see the same durations of calls. If the
 * tracers are in several libraries, each of which has clocks of its own, a
 * ring may then have a time that is less than 1 us before its last one. */
static inline uint64_t inv_arrival_time(const struct inv_arrival *a,
					struct inv_thread *thread)
{
	uint64_t *time = a->te.time;

	if (inv_likely(!time))
		return inv_thread_now(thread);
	if (*time == 0)
		*time = inv_thread_now(thread);
	return *time;
}

#endif
