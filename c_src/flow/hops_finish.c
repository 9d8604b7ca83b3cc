/* SPDX-License-Identifier: Apache-2.0 */
/* Completes the hops of requests when all events were added. */
#include <stdlib.h>

#include "base/err.h"
#include "flow/hops_int.h"

/* --- the critical path ---------------------------------------------------- */

static int64_t end_of(const struct inv_hop *p)
{
	return inv_hop_arrived(p) ? p->last_ns : p->sent_ns;
}

static void find_critical(struct inv_hops *h, uint32_t root)
{
	uint32_t answer = INV_HOP_NONE, last = root;
	struct inv_hop *r = &h->v[root];

	for (uint32_t i = r->then; i != INV_HOP_NONE; i = h->v[i].then) {
		const struct inv_hop *p = &h->v[i];

		if (p->to == r->to && (answer == INV_HOP_NONE ||
				       p->last_id >= h->v[answer].last_id))
			answer = i;
		if (end_of(p) >= end_of(&h->v[last]))
			last = i;
	}
	if (answer == INV_HOP_NONE)
		answer = last;
	r->critical_ns = end_of(&h->v[answer]) - inv_hop_time(r);
	for (uint32_t i = answer; i != INV_HOP_NONE; i = h->v[i].parent)
		h->v[i].critical = true;
}

/* --- removal of hops that are not selected -------------------------------- */

/* What becomes of a hop. If the hop is removed, the struct describes the hop's
 * nearest ancestor that remains. */
struct place {
	uint32_t at;	  /* new index of the hop or, if the hop is removed, of
			   * the ancestor; INV_HOP_NONE: no ancestor remains */
	uint32_t skipped; /* how many hops below the ancestor this hop is; 0:
			   * this hop remains */
};

/* Selects the root of each request that has a selected hop. Returns true if all
 * hops are selected. */
static bool select_roots(struct inv_hops *h)
{
	bool all = true;

	for (uint32_t i = 0; i < h->n; i++) {
		if (h->v[i].selected)
			h->v[h->v[i].root].selected = true;
	}
	for (uint32_t i = 0; i < h->n; i++)
		all &= h->v[i].selected;
	return all;
}

/* Moves hop i to its new index, which is at most i, or removes the hop. Call
 * this for all hops in the order of their indices: the parent of a hop has a
 * lower index, so places[parent] is then known. */
static void move(struct inv_hops *h, uint32_t i, struct place *places)
{
	struct inv_hop *p = &h->v[i];
	uint32_t parent = p->parent, at = INV_HOP_NONE;
	uint32_t skipped = 0;

	if (parent != INV_HOP_NONE) {
		at = places[parent].at;
		skipped = places[parent].skipped;
	}
	if (!p->selected) {
		places[i] = (struct place){ at, skipped + 1 };
		if (at != INV_HOP_NONE)
			h->v[h->v[at].root].filtered++;
		return;
	}
	places[i] = (struct place){ h->n, 0 };
	h->v[h->n] = *p;
	p = &h->v[h->n];
	p->first = p->last = p->next = p->then = INV_HOP_NONE;
	p->skipped = skipped;
	p->parent = INV_HOP_NONE;
	p->root = p->newest = h->n++;
	if (at != INV_HOP_NONE)
		inv_hops_link(h, at, h->n - 1);
}

static void move_events(struct inv_hops *h, const struct place *places)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_events; i++) {
		const struct place *p = &places[h->events[i].hop];

		if (!p->skipped)
			h->events[n++] =
				(struct inv_hop_event){ h->events[i].id,
							p->at };
	}
	h->n_events = n;
}

static void see(uint32_t *numbers, uint32_t process)
{
	if (process != INV_HOP_NONE)
		numbers[process] = 0;
}

static void renumber(const uint32_t *numbers, uint32_t *process)
{
	if (*process != INV_HOP_NONE)
		*process = numbers[*process];
}

static int remove_processes(struct inv_hops *h)
{
	uint32_t *numbers = malloc((h->n_processes + 1u) * sizeof(*numbers));

	if (!numbers)
		return INV_ENOMEM;
	for (uint32_t i = 0; i < h->n_processes; i++)
		numbers[i] = INV_HOP_NONE;
	for (uint32_t i = 0; i < h->n; i++) {
		see(numbers, h->v[i].from);
		see(numbers, h->v[i].to);
		see(numbers, h->v[i].aim);
	}
	inv_hops_number_processes(h, numbers);
	for (uint32_t i = 0; i < h->n; i++) {
		renumber(numbers, &h->v[i].from);
		renumber(numbers, &h->v[i].to);
		renumber(numbers, &h->v[i].aim);
	}
	free(numbers);
	return 0;
}

static int remove_hops(struct inv_hops *h)
{
	struct place *places = calloc(h->n + 1u, sizeof(*places));
	uint32_t n = h->n;

	if (!places)
		return INV_ENOMEM;
	h->n = 0;
	for (uint32_t i = 0; i < n; i++)
		move(h, i, places);
	move_events(h, places);
	free(places);
	return remove_processes(h);
}

int inv_hops_finish(struct inv_hops *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->v[i].parent == INV_HOP_NONE)
			find_critical(h, i);
	return select_roots(h) ? 0 : remove_hops(h);
}
