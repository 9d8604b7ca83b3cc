/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/note.h"

#include <stddef.h>

/* A hash table with open addressing. */
#define PLACES 131072
#define FUNCTIONS_MAX (PLACES / 2)
#define PROBES 64
/*
 * How many entries are reserved for notes with an arity above 255. These are
 * not notes on functions, but on modules and on on_load.
 */
#define RESERVED 4096

static struct inv_note notes[PLACES];
static struct inv_note *places[FUNCTIONS_MAX]; /* pointers to the entries in
						  use */
static size_t used;

/*
 * Returns the function's entry. If the function has no entry, returns a free
 * entry, or NULL if all entries that were probed belong to other functions.
 */
static struct inv_note *search(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity)
{
	uint64_t hash = (module * 31 + name) * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(hash >> 40) + arity;
	int left;

	for (left = PROBES; left > 0; left--, at++) {
		struct inv_note *n = &notes[at % PLACES];
		ERL_NIF_TERM there =
			atomic_load_explicit(&n->module, memory_order_acquire);

		if (there == 0 ||
		    (there == module && n->name == name && n->arity == arity))
			return n;
	}
	return NULL;
}

static bool is_used(const struct inv_note *n)
{
	return n && atomic_load_explicit(&n->module, memory_order_relaxed) != 0;
}

struct inv_note *inv_note_find(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity)
{
	struct inv_note *n = search(module, name, arity);

	return is_used(n) ? n : NULL;
}

struct inv_note *inv_note_make(ERL_NIF_TERM module, ERL_NIF_TERM name,
			       unsigned arity)
{
	struct inv_note *n = search(module, name, arity);

	if (is_used(n))
		return n;
	if (!n || used >= FUNCTIONS_MAX - (arity <= 255 ? RESERVED : 0))
		return NULL;
	places[used++] = n;
	n->name = name;
	n->arity = arity;
	atomic_store_explicit(&n->module, module, memory_order_release);
	return n;
}

void inv_notes_clear(void)
{
	size_t i;

	for (i = 0; i < used; i++)
		atomic_store(&places[i]->sessions, 0);
}

void inv_notes_forget(void)
{
	size_t i;

	for (i = 0; i < used; i++) {
		atomic_store(&places[i]->sessions, 0);
		atomic_store(&places[i]->plain, false);
		atomic_store(&places[i]->counters, 0);
	}
}
