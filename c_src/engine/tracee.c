/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tracee.h"

#include <stddef.h>

#include "engine/lost.h"
#include "vm/pages.h"
#include "vm/place.h"

/* The most entries of a table; more would not fit into memory. */
#define PLACES_MAX (UINT64_C(1) << 24)

/* The low bits of a pid or port are its tag; a port has the tag TAG_PORT. */
#define TAG_MASK 15
#define TAG_PORT 7

/* While a thread is taking over an entry, the entry has this id, which no
 * tracee has. */
#define TAKEN UINT64_C(1)
#define PATIENCE 100000

struct table {
	struct inv_tracee *place;
	uint64_t places;	  /* how many entries the table has, a power
				     of two */
	_Atomic uint32_t unknown; /* the profile of tracees without an entry */
};

static struct table processes;
static struct table ports;

/* One bit for each entry in the table of processes. */
#define WORD 64
#define MARKS_MAX (PLACES_MAX / WORD * sizeof(uint64_t))
static _Atomic uint64_t *marks;
static _Atomic bool marked; /* a message about marks was sent to the server */

static int init(struct table *t, uint64_t n)
{
	t->places = inv_vm_places(n, PLACES_MAX);
	t->place = inv_pages_map(t->places * sizeof(*t->place));
	return t->place ? 0 : -1;
}

static void end(struct table *t)
{
	inv_pages_unmap(t->place, t->places * sizeof(*t->place));
	t->place = NULL;
}

static void clear(struct table *t)
{
	inv_pages_clear(t->place, t->places * sizeof(*t->place));
	atomic_store(&t->unknown, 0);
}

int inv_tracees_init(uint64_t n_processes, uint64_t n_ports)
{
	marks = inv_pages_map(MARKS_MAX);
	if (marks && init(&processes, n_processes) == 0 &&
	    init(&ports, n_ports) == 0 && inv_frames_init() == 0)
		return 0;
	inv_tracees_end();
	return -1;
}

void inv_tracees_end(void)
{
	end(&processes);
	end(&ports);
	inv_pages_unmap(marks, MARKS_MAX);
	marks = NULL;
	inv_frames_end();
}

void inv_tracees_clear(void)
{
	clear(&processes);
	clear(&ports);
	inv_pages_clear(marks, MARKS_MAX);
	atomic_store(&marked, false);
	inv_frames_clear();
}

bool inv_tracee_is_port(ERL_NIF_TERM id)
{
	return (id & TAG_MASK) == TAG_PORT;
}

static struct table *table_of(ERL_NIF_TERM id)
{
	return inv_tracee_is_port(id) ? &ports : &processes;
}

static uint32_t unknown(ERL_NIF_TERM id)
{
	return atomic_load_explicit(&table_of(id)->unknown,
				    memory_order_acquire);
}

static struct table *table_of_new(enum inv_new what)
{
	return what == INV_NEW_PORTS ? &ports : &processes;
}

uint32_t inv_tracees_unknown(enum inv_new what)
{
	return atomic_load(&table_of_new(what)->unknown);
}

void inv_tracees_set_unknown(enum inv_new what, uint32_t profile)
{
	atomic_store(&table_of_new(what)->unknown, profile);
}

static struct inv_tracee *place_of(ERL_NIF_TERM id)
{
	const struct table *t = table_of(id);

	return &t->place[inv_vm_place(id, t->places)];
}

struct inv_tracee *inv_tracee_find(ERL_NIF_TERM id)
{
	struct inv_tracee *t = place_of(id);

	return atomic_load_explicit(&t->id, memory_order_acquire) == id ? t :
									  NULL;
}

static uint32_t calls(uint32_t number)
{
	return inv_profile_at(number)->sessions[INV_FLAG_CALL];
}

static uint32_t returns(uint32_t number)
{
	return inv_profile_at(number)->sessions[INV_FLAG_RETURN_TO];
}

/*
 * Takes an entry over from the dead tracee `had'. Returns false if another
 * thread has changed the entry's id meanwhile.
 */
static bool take_over(struct inv_tracee *t, uint64_t had, ERL_NIF_TERM id,
		      uint32_t profile, uint32_t expected)
{
	if (!atomic_compare_exchange_strong(&t->id, &had, TAKEN))
		return false;
	inv_frames_drop(&t->frames);
	inv_frames_drop(&t->meta);
	inv_frames_drop(&t->chain);
	t->child = 0;
	atomic_store_explicit(&t->linked_by, 0, memory_order_relaxed);
	atomic_store_explicit(&t->cut, false, memory_order_relaxed);
	atomic_store_explicit(&t->chain_cut, false, memory_order_relaxed);
	atomic_store_explicit(&t->profile, profile, memory_order_relaxed);
	atomic_store_explicit(&t->expected, expected, memory_order_relaxed);
	atomic_store_explicit(&t->called, calls(profile) != 0,
			      memory_order_relaxed);
	atomic_store_explicit(&t->timed, calls(profile), memory_order_relaxed);
	atomic_store_explicit(&t->held, 0, memory_order_relaxed);
	atomic_store_explicit(&t->id, id, memory_order_release);
	return true;
}

/*
 * If another thread is taking the entry over, tries again, at most PATIENCE
 * times, because the other thread needs only a few steps.
 */
struct inv_tracee *inv_tracee_get(ERL_NIF_TERM id)
{
	struct inv_tracee *t = place_of(id);
	unsigned left;

	for (left = PATIENCE; left > 0; left--) {
		uint64_t has =
			atomic_load_explicit(&t->id, memory_order_acquire);

		if (has == id ||
		    (has != TAKEN && take_over(t, has, id, unknown(id), 0)))
			return t;
	}
	inv_shortage(INV_SHORTAGE_PLACE);
	return NULL;
}

/* Tries only once: no other thread knows the new tracee yet, so no other thread
 * can be making the tracee's entry. */
void inv_tracee_born(ERL_NIF_TERM id, uint32_t profile, uint32_t expected)
{
	struct inv_tracee *t = place_of(id);

	if (!take_over(t, atomic_load(&t->id), id, profile, expected))
		inv_shortage(INV_SHORTAGE_PLACE);
}

uint32_t inv_tracee_expected(ERL_NIF_TERM id)
{
	struct inv_tracee *t = inv_tracee_find(id);

	return t ? atomic_load(&t->expected) : 0;
}

uint32_t inv_tracee_profile(const struct inv_tracee *t)
{
	return atomic_load_explicit(&t->profile, memory_order_acquire);
}

uint32_t inv_tracee_profile_of(ERL_NIF_TERM id)
{
	const struct inv_tracee *t = inv_tracee_find(id);

	return t ? inv_tracee_profile(t) : unknown(id);
}

bool inv_tracee_timed(ERL_NIF_TERM id, uint32_t *timed, uint32_t *sessions)
{
	const struct inv_tracee *t = inv_tracee_find(id);

	if (!t)
		return false;
	*timed = atomic_load(&t->timed);
	*sessions = calls(inv_tracee_profile(t));
	return true;
}

bool inv_tracee_set_timed(ERL_NIF_TERM id, uint32_t timed)
{
	struct inv_tracee *t = inv_tracee_find(id);

	if (!t)
		return false;
	atomic_store(&t->timed, timed);
	/* If a callback has added a session meanwhile, the store has removed it
	 * again. */
	atomic_fetch_or(&t->timed, calls(atomic_load(&t->profile)));
	return true;
}

void inv_tracee_time(struct inv_tracee *t)
{
	atomic_fetch_or(&t->timed, calls(inv_tracee_profile(t)));
}

bool inv_tracee_change(struct inv_tracee *t, uint32_t from, uint32_t to)
{
	if (from == to)
		return true;
	if (!atomic_compare_exchange_strong(&t->profile, &from, to))
		return false;
	/* Before its first flag `call' the process has no counter in the VM, so
	 * the server need not read the counters. */
	if (calls(to) != 0 && !atomic_exchange(&t->called, true))
		inv_tracee_time(t);
	if (calls(from) != 0 && calls(to) == 0)
		atomic_store(&t->cut, true);
	if (returns(from) != 0 && returns(to) == 0)
		atomic_store(&t->chain_cut, true);
	return true;
}

uint32_t inv_tracee_edit(ERL_NIF_TERM id, const struct inv_edit *edit)
{
	struct inv_tracee *t = inv_tracee_find(id);
	uint32_t from;
	uint32_t to;

	if (!t && edit->set == 0 && unknown(id) == 0)
		return 0;
	if (!t)
		t = inv_tracee_get(id);
	if (!t)
		return INV_PROFILE_NONE;
	do {
		from = inv_tracee_profile(t);
		to = inv_profile_edit(from, edit);
	} while (to != INV_PROFILE_NONE && !inv_tracee_change(t, from, to));
	if (to != INV_PROFILE_NONE &&
	    (edit->clear & INV_FLAGS_ALL) == INV_FLAGS_ALL)
		atomic_fetch_and(&t->expected, ~(UINT32_C(1) << edit->slot));
	return to;
}

/*
 * Removes the session in edit->slot from one entry. No new tracee gets flags of
 * this session any more: the server has already ensured this.
 */
static void vacate(struct inv_tracee *t, const struct inv_edit *edit)
{
	uint32_t mask = ~(UINT32_C(1) << edit->slot);
	uint32_t from;
	uint32_t to;

	if (atomic_load(&t->id) == 0)
		return;
	atomic_fetch_and(&t->timed, mask);
	atomic_fetch_and(&t->expected, mask);
	do {
		from = inv_tracee_profile(t);
		if ((inv_profile_sessions(inv_profile_at(from)) & ~mask) == 0)
			return;
		to = inv_profile_edit(from, edit);
	} while (to != INV_PROFILE_NONE && !inv_tracee_change(t, from, to));
}

/*
 * An index below processes.places is the index of a process's entry. A higher
 * index, minus processes.places, is the index of a port's entry.
 */
uint64_t inv_tracees_vacate(uint32_t slot, uint64_t from, uint64_t max)
{
	struct inv_edit edit = { .slot = slot, .clear = INV_FLAGS_ALL };
	uint64_t end = processes.places + ports.places;

	for (; from < end && max > 0; from++, max--)
		vacate(from < processes.places ?
			       &processes.place[from] :
			       &ports.place[from - processes.places],
		       &edit);
	return from < end ? from : 0;
}

bool inv_tracee_mark(const struct inv_tracee *t)
{
	uint64_t place = (uint64_t)(t - processes.place);

	atomic_fetch_or(&marks[place / WORD], UINT64_C(1) << place % WORD);
	return !atomic_exchange(&marked, true);
}

/*
 * Removes at most `max' marks in one word of `marks'. Stores the ids of the
 * processes that have the marked entries, and returns their number. If another
 * process has taken over an entry since it was marked, the marked process is
 * dead.
 */
static unsigned take_word(uint64_t word, ERL_NIF_TERM *ids, unsigned max)
{
	uint64_t left = atomic_load(&marks[word]);
	unsigned n = 0;

	for (; left != 0 && n < max; left &= left - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(left);
		uint64_t id;

		atomic_fetch_and(&marks[word], ~(UINT64_C(1) << bit));
		id = atomic_load(&processes.place[word * WORD + bit].id);
		if (id != 0 && id != TAKEN)
			ids[n++] = id;
	}
	return n;
}

/*
 * Clears `marked' first: if a process is marked from then on, another message
 * is sent. If `max' ids were stored, more processes may be marked. The server
 * then calls this function again without waiting for a message, so no message
 * is needed.
 */
unsigned inv_tracees_take_marked(ERL_NIF_TERM *ids, unsigned max)
{
	unsigned n = 0;
	uint64_t i;

	atomic_store(&marked, false);
	for (i = 0; i * WORD < processes.places && n < max; i++)
		n += take_word(i, ids + n, max - n);
	if (n == max)
		atomic_store(&marked, true);
	return n;
}

static struct inv_frames *after(_Atomic bool *cut, struct inv_frames *frames)
{
	if (atomic_load_explicit(cut, memory_order_relaxed) &&
	    atomic_exchange(cut, false))
		inv_frames_drop(frames);
	return frames;
}

struct inv_frames *inv_tracee_frames(struct inv_tracee *t)
{
	return after(&t->cut, &t->frames);
}

struct inv_frames *inv_tracee_chain(struct inv_tracee *t)
{
	return after(&t->chain_cut, &t->chain);
}
