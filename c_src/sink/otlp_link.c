/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/otlp_link.h"

#include <stdlib.h>
#include <string.h>

#include "base/uthash.h"

struct turn {
	struct inv_otlp_link link;
	int64_t first_ns;
	int64_t last_ns;
};

struct ended {
	struct inv_otlp_link link;
	int64_t begin_ns;
};

struct inv_links_party {
	uint64_t process;
	struct turn turns[INV_LINKS_MAX];  /* the newest turn is the last
					      element */
	struct ended calls[INV_LINKS_MAX]; /* calls that ended after the last
					      event of a turn */
	uint32_t n_turns;
	uint32_t n_calls;
	bool stored;
	UT_hash_handle hh;
};

struct inv_links_later {
	uint64_t turn;
	struct inv_otlp_link call;
};

static struct inv_links_party *find(const struct inv_links *l, uint64_t process)
{
	struct inv_links_party *p = NULL;

	if (l->parties)
		HASH_FIND(hh, l->parties, &process, sizeof(process), p);
	return p;
}

static void forget(struct inv_links *l, struct inv_links_party *p)
{
	HASH_DEL(l->parties, p);
	free(p);
}

/* Returns the process's entry in the table, and makes it the newest entry. Adds
 * the entry if there is none. Returns NULL if there is no memory. */
static struct inv_links_party *party(struct inv_links *l, uint64_t process)
{
	struct inv_links_party *p = find(l, process);

	if (p) {
		HASH_DEL(l->parties, p);
	} else {
		if (HASH_COUNT(l->parties) >= INV_LINKS_PARTIES)
			forget(l, l->parties);
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->process = process;
	}
	p->stored = true;
	HASH_ADD(hh, l->parties, process, sizeof(process), p);
	if (p->stored)
		return p;
	free(p);
	return NULL;
}

/* Makes room for an element at the end of the array v. If the array already has
 * INV_LINKS_MAX elements, removes the oldest one. */
static void *push(void *v, uint32_t *n, size_t size)
{
	if (*n == INV_LINKS_MAX) {
		memmove(v, (char *)v + size, (INV_LINKS_MAX - 1) * size);
		--*n;
	}
	return (char *)v + (*n)++ * size;
}

static void add_later(struct inv_links *l, uint64_t turn,
		      const struct inv_otlp_link *call)
{
	if (l->n_later == INV_LINKS_LATER)
		return;
	if (l->n_later == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		void *more = realloc(l->later, cap * sizeof(*l->later));

		if (!more) {
			l->failed = true;
			return;
		}
		l->later = more;
		l->cap = cap;
	}
	l->later[l->n_later++] =
		(struct inv_links_later){ .turn = turn, .call = *call };
}

void inv_links_turn(struct inv_links *l, uint64_t process, int64_t ts_ns,
		    const struct inv_otlp_link *turn)
{
	struct inv_links_party *p = party(l, process);
	struct turn *t;

	if (!p) {
		l->failed = true;
		return;
	}
	t = p->n_turns ? &p->turns[p->n_turns - 1] : NULL;
	if (t && t->link.span == turn->span) {
		for (uint32_t i = 0; i < p->n_calls; i++)
			if (p->calls[i].begin_ns >= t->last_ns)
				add_later(l, turn->span, &p->calls[i].link);
		t->last_ns = ts_ns;
	} else {
		t = push(p->turns, &p->n_turns, sizeof(*t));
		*t = (struct turn){ .link = *turn,
				    .first_ns = ts_ns,
				    .last_ns = ts_ns };
	}
	p->n_calls = 0;
}

uint32_t inv_links_call(struct inv_links *l, uint64_t process, int64_t begin_ns,
			const struct inv_otlp_link *call,
			struct inv_otlp_link to[INV_LINKS_MAX])
{
	struct inv_links_party *p = find(l, process);
	struct ended *e;
	uint32_t n = 0;

	if (!p)
		return 0;
	for (uint32_t i = 0; i < p->n_turns; i++)
		if (p->turns[i].last_ns >= begin_ns)
			to[n++] = p->turns[i].link;
	e = push(p->calls, &p->n_calls, sizeof(*e));
	*e = (struct ended){ .link = *call, .begin_ns = begin_ns };
	return n;
}

/* --- links from turns ----------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct inv_links_later *)a)->turn;
	uint64_t y = ((const struct inv_links_later *)b)->turn;

	return x < y ? -1 : x > y;
}

void inv_links_end(struct inv_links *l)
{
	if (l->n_later)
		qsort(l->later, l->n_later, sizeof(*l->later), compare);
}

uint32_t inv_links_of(const struct inv_links *l, uint64_t turn,
		      struct inv_otlp_link to[INV_LINKS_MAX])
{
	size_t low = 0, high = l->n_later;
	uint32_t n = 0;

	while (low < high) {
		size_t i = low + (high - low) / 2;

		if (l->later[i].turn < turn)
			low = i + 1;
		else
			high = i;
	}
	for (; low < l->n_later && l->later[low].turn == turn &&
	       n < INV_LINKS_MAX;
	     low++)
		to[n++] = l->later[low].call;
	return n;
}

void inv_links_release(struct inv_links *l)
{
	while (l->parties)
		forget(l, l->parties);
	free(l->later);
}
