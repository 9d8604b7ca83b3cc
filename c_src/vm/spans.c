/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/spans.h"

#include <stddef.h>

#include "vm/pages.h"
#include "vm/place.h"

/* The most entries of a table; a VM has fewer processes. */
#define PROCESSES_MAX (UINT64_C(1) << 27)

#define NEAR 3u	 /* an entry has room for this many open calls */
#define NEXT 63u /* an entry and its `next' have room for this many together */

struct entry {
	uint64_t id;   /* the process; 0: none */
	uint32_t n;    /* how many open calls are on the stack */
	uint32_t more; /* how many open calls found no room on the stack */
	struct inv_spans_call near[NEAR];
};

struct next {
	struct inv_spans_call span[NEXT - NEAR];
};

struct far {
	struct inv_spans_call span[INV_SPANS_DEPTH - NEXT];
};

_Static_assert(sizeof(struct entry) == 64, "an entry is a cache line");

struct inv_spans {
	uint64_t places; /* how many entries, a power of two */
	uint32_t depth;
	struct entry *entry;
	struct next *next;
	struct far *far;
};

struct inv_spans *inv_spans_make(uint64_t processes)
{
	struct inv_spans *s = inv_pages_map(sizeof(*s));

	if (!s)
		return NULL;
	s->places = inv_vm_places(processes, PROCESSES_MAX);
	s->entry = inv_pages_map(s->places * sizeof(*s->entry));
	if (!s->entry) {
		inv_spans_free(s);
		return NULL;
	}
	s->next = inv_pages_map(s->places * sizeof(*s->next));
	if (s->next)
		s->far = inv_pages_map(s->places * sizeof(*s->far));
	s->depth = s->far ? INV_SPANS_DEPTH : s->next ? NEXT : NEAR;
	return s;
}

void inv_spans_free(struct inv_spans *s)
{
	if (!s)
		return;
	inv_pages_unmap(s->entry, s->places * sizeof(*s->entry));
	inv_pages_unmap(s->next, s->places * sizeof(*s->next));
	inv_pages_unmap(s->far, s->places * sizeof(*s->far));
	inv_pages_unmap(s, sizeof(*s));
}

uint32_t inv_spans_depth(const struct inv_spans *s)
{
	return s->depth;
}

static struct inv_spans_call *span_at(const struct inv_spans *s,
				      struct entry *e, uint32_t i)
{
	ptrdiff_t place = e - s->entry;

	if (i < NEAR)
		return &e->near[i];
	if (i < NEXT)
		return &s->next[place].span[i - NEAR];
	return &s->far[place].span[i - NEXT];
}

/* Removes the open calls from index `from' on, the innermost one first. */
static void lose(const struct inv_spans *s, const struct inv_spans_use *use,
		 struct entry *e, uint32_t from)
{
	while (e->n > from)
		use->lost(use->arg, e->id, span_at(s, e, --e->n));
}

/* Removes the calls whose ends will not be reported, so that the stack has room
 * for another call. */
static void make_room(const struct inv_spans *s,
		      const struct inv_spans_use *use, struct entry *e)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < e->n; i++) {
		const struct inv_spans_call *span = span_at(s, e, i);

		if (use->gone(use->arg, span->function))
			use->lost(use->arg, e->id, span);
		else
			*span_at(s, e, kept++) = *span;
	}
	/* Open calls for which the stack had no room are only counted, in
	 * `more'. Their functions are unknown. If a call was removed from the
	 * stack because its end will not be reported, assume that the ends of
	 * these calls will not be reported either. */
	if (kept < e->n)
		e->more = 0;
	e->n = kept;
}

bool inv_spans_begin(struct inv_spans *s, const struct inv_spans_use *use,
		     uint64_t process, const struct inv_spans_call *span)
{
	struct entry *e = &s->entry[inv_vm_place(process, s->places)];

	if (e->id != process) {
		lose(s, use, e, 0);
		e->id = process;
		e->more = 0;
	}
	if (e->n == s->depth)
		make_room(s, use, e);
	if (e->n == s->depth) {
		e->more++;
		return false;
	}
	*span_at(s, e, e->n++) = *span;
	return true;
}

bool inv_spans_end(struct inv_spans *s, const struct inv_spans_use *use,
		   uint64_t process, uint32_t function,
		   struct inv_spans_call *span)
{
	struct entry *e = &s->entry[inv_vm_place(process, s->places)];
	uint32_t i;

	if (e->id != process)
		return false;
	if (e->more > 0) {
		e->more--;
		return false;
	}
	for (i = e->n; i > 0; i--) {
		if (span_at(s, e, i - 1)->function != function)
			continue;
		*span = *span_at(s, e, i - 1);
		lose(s, use, e, i);
		e->n = i - 1;
		return true;
	}
	return false;
}

bool inv_spans_take(struct inv_spans *s, const struct inv_spans_use *use,
		    uint64_t *at, uint64_t most)
{
	for (; most > 0 && *at < s->places; most--)
		lose(s, use, &s->entry[(*at)++], 0);
	return *at < s->places;
}
