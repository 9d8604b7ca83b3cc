/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/starters.h"

#include <stddef.h>

#include "vm/pages.h"
#include "vm/place.h"

/* The most entries of a table; a VM has fewer processes. */
#define PROCESSES_MAX (UINT64_C(1) << 27)

struct starter {
	uint64_t id;
	uint32_t frames; /* how many start calls have not ended */
	uint16_t depth;	 /* how many of these calls began with the process's
			    last request, or later */
	bool began;	 /* the process has begun a request */
	bool received : 1;
	bool left : 1;
};

struct inv_starters {
	uint64_t places; /* how many entries, a power of two */
	struct starter of[];
};

_Static_assert(sizeof(struct starter) == 16, "four in a cache line");

static size_t bytes_of(uint64_t places)
{
	return sizeof(struct inv_starters) + places * sizeof(struct starter);
}

struct inv_starters *inv_starters_make(uint64_t processes)
{
	uint64_t places = inv_vm_places(processes, PROCESSES_MAX);
	struct inv_starters *s = inv_pages_map(bytes_of(places));

	if (s)
		s->places = places;
	return s;
}

void inv_starters_free(struct inv_starters *s)
{
	if (s)
		inv_pages_unmap(s, bytes_of(s->places));
}

static const struct starter *find(const struct inv_starters *s,
				  uint64_t process)
{
	const struct starter *p = &s->of[inv_vm_place(process, s->places)];

	return p->id == process ? p : NULL;
}

/* Returns the process's entry. If the entry is that of a dead process, the
 * process takes it over. */
static struct starter *entry(struct inv_starters *s, uint64_t process)
{
	struct starter *p = &s->of[inv_vm_place(process, s->places)];

	if (p->id != process)
		*p = (struct starter){ .id = process };
	return p;
}

void inv_starters_begin(struct inv_starters *s, uint64_t process)
{
	struct starter *p = entry(s, process);

	p->frames++;
	p->depth = 1;
	p->began = true;
	p->received = p->left = false;
}

void inv_starters_go_on(struct inv_starters *s, uint64_t process)
{
	struct starter *p = entry(s, process);

	p->frames++;
	if (p->depth < UINT16_MAX)
		p->depth++;
}

void inv_starters_end(struct inv_starters *s, uint64_t process)
{
	struct starter *p = entry(s, process);

	if (p->frames > 0)
		p->frames--;
	if (p->depth > 0 && --p->depth == 0)
		p->received = false;
}

void inv_starters_received(struct inv_starters *s, uint64_t process)
{
	struct starter *p = &s->of[inv_vm_place(process, s->places)];

	if (p->id != process || p->depth > 0)
		return;
	p->received = true;
	p->left = false;
}

bool inv_starters_done(const struct inv_starters *s, uint64_t process)
{
	const struct starter *p = find(s, process);

	return p && p->began && p->depth == 0 && !p->received;
}

bool inv_starters_too_deep(const struct inv_starters *s, uint64_t process)
{
	const struct starter *p = find(s, process);

	return p && p->frames >= INV_STARTERS_FRAMES;
}

void inv_starters_leave(struct inv_starters *s, uint64_t process)
{
	entry(s, process)->left = true;
}

bool inv_starters_has_left(const struct inv_starters *s, uint64_t process)
{
	const struct starter *p = find(s, process);

	return p && p->left;
}

void inv_starters_forget(struct inv_starters *s, uint64_t process)
{
	entry(s, process)->began = false;
}
