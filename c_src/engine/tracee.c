/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tracee.h"

#include <stddef.h>

#include "engine/pages.h"

/* More processes than that would not fit into any machine's memory. */
#define PLACES_MAX (UINT64_C(1) << 24)

static struct inv_tracee *tracees;
static uint64_t places; /* a power of two */

int inv_tracees_init(uint64_t processes)
{
	for (places = 1; places < processes && places < PLACES_MAX;)
		places *= 2;
	tracees = inv_pages_map(places * sizeof(*tracees));
	if (tracees && inv_frames_init() == 0)
		return 0;
	inv_tracees_end();
	return -1;
}

void inv_tracees_end(void)
{
	inv_pages_unmap(tracees, places * sizeof(*tracees));
	inv_frames_end();
	tracees = NULL;
}

void inv_tracees_clear(void)
{
	inv_pages_clear(tracees, places * sizeof(*tracees));
	inv_frames_clear();
}

/* Below a pid's number are four bits of tag. */
static struct inv_tracee *place_of(ERL_NIF_TERM pid)
{
	return &tracees[(pid >> 4) & (places - 1)];
}

struct inv_tracee *inv_tracee_find(ERL_NIF_TERM pid)
{
	struct inv_tracee *t = place_of(pid);

	return atomic_load_explicit(&t->pid, memory_order_acquire) == pid ?
		       t :
		       NULL;
}

uint32_t inv_tracee_profile(const struct inv_tracee *t)
{
	return atomic_load_explicit(&t->profile, memory_order_acquire);
}

/* Who had the place is dead, and has no more events. */
static void take_over(struct inv_tracee *t, ERL_NIF_TERM pid, uint32_t profile)
{
	inv_frames_drop(&t->frames);
	atomic_store_explicit(&t->profile, profile, memory_order_relaxed);
	atomic_store_explicit(&t->pid, pid, memory_order_release);
}

bool inv_tracee_change(ERL_NIF_TERM pid, uint32_t from, uint32_t to)
{
	struct inv_tracee *t = place_of(pid);

	if (atomic_load_explicit(&t->pid, memory_order_acquire) == pid)
		return atomic_compare_exchange_strong(&t->profile, &from, to);
	if (from != 0)
		return false;
	take_over(t, pid, to);
	return true;
}

void inv_tracee_cut(ERL_NIF_TERM pid)
{
	struct inv_tracee *t = inv_tracee_find(pid);

	if (t)
		atomic_store(&t->cut, true);
}

struct inv_frames *inv_tracee_frames(struct inv_tracee *t)
{
	if (atomic_load_explicit(&t->cut, memory_order_relaxed) &&
	    atomic_exchange(&t->cut, false))
		inv_frames_drop(&t->frames);
	return &t->frames;
}
