/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "engine/lost.h"
#include "vm/pages.h"

/* The hash table has twice as many entries as there can be profiles, so that a
 * search needs few probes. */
#define PLACES (2 * INV_PROFILES_MAX)
#define PROBES 128
#define SPARES 16

/* The size of the part of the struct that is hashed and compared.  `child', a
 * cache, comes after this part. */
#define KEY offsetof(struct inv_profile, child)

struct table {
	_Atomic uint32_t used;		/* how many numbers were taken, not
					   counting number 0 */
	_Atomic uint32_t spare[SPARES]; /* numbers that were taken and are not
					   needed: the next profiles get them */
	_Atomic uint32_t new[INV_NEWS];
	_Atomic uint32_t place[PLACES]; /* a hash table of the numbers of
					   profiles; 0: the entry is free */
	struct inv_profile profile[INV_PROFILES_MAX];
};

static struct table *table;

int inv_profiles_init(void)
{
	table = inv_pages_map(sizeof(*table));
	return table ? 0 : -1;
}

void inv_profiles_end(void)
{
	inv_pages_unmap(table, sizeof(*table));
	table = NULL;
}

void inv_profiles_clear(void)
{
	inv_pages_clear(table, sizeof(*table));
}

const struct inv_profile *inv_profile_at(uint32_t number)
{
	return &table->profile[number];
}

static uint32_t having_flags(const struct inv_profile *p)
{
	uint32_t mask = 0;
	unsigned f;

	for (f = 0; f < INV_FLAGS; f++)
		mask |= p->sessions[f];
	return mask;
}

uint32_t inv_profile_sessions(const struct inv_profile *p)
{
	return having_flags(p) | p->sessions[INV_FLAG_USED_UP];
}

static uint32_t hash(const struct inv_profile *p)
{
	uint32_t word[KEY / sizeof(uint32_t)];
	uint32_t h = 0;
	size_t i;

	memcpy(word, p, sizeof(word));
	for (i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		h = (h ^ word[i]) * UINT32_C(0x9e3779b1);
		h ^= h >> 15;
	}
	return h;
}

static bool equal(const struct inv_profile *a, const struct inv_profile *b)
{
	return memcmp(a, b, KEY) == 0;
}

/* Takes a number for a new profile and returns it, or returns 0 if there is
 * none. */
static uint32_t free_number(void)
{
	uint32_t number = 0;
	int i;

	for (i = 0; i < SPARES && number == 0; i++)
		number = atomic_exchange(&table->spare[i], 0);
	if (number != 0)
		return number;
	number = atomic_load(&table->used);
	do
		if (number + 1 >= INV_PROFILES_MAX)
			return 0;
	while (!atomic_compare_exchange_weak(&table->used, &number,
					     number + 1));
	return number + 1;
}

/*
 * Puts a number that was taken and is not needed into a free element of
 * `spare'. If `spare' is full, no profile can use the number.
 */
static void give_back(uint32_t number)
{
	uint32_t none = 0;
	int i;

	for (i = 0; i < SPARES && number != 0; i++, none = 0)
		if (atomic_compare_exchange_strong(&table->spare[i], &none,
						   number))
			return;
}

/*
 * Stores a profile under a free number and returns the number, or returns 0 if
 * there is no room.
 */
static uint32_t define(const struct inv_profile *p)
{
	uint32_t number = free_number();

	if (number != 0)
		memcpy(&table->profile[number], p, KEY);
	return number;
}

/*
 * Returns the number of a profile. Adds the profile if the table does not have
 * it. If two threads add the same profile at the same time, each takes a number
 * and tries to store it. The second thread then finds the number of the first
 * thread in the table, and returns that number.
 */
static uint32_t number_of(const struct inv_profile *p)
{
	uint32_t mine = 0;
	uint32_t at = hash(p);
	int left;

	if (equal(p, inv_profile_at(0)))
		return 0;
	for (left = PROBES; left > 0; left--, at++) {
		_Atomic uint32_t *place = &table->place[at % PLACES];
		uint32_t number = atomic_load(place);

		if (number == 0 && mine == 0 && (mine = define(p)) == 0)
			break;
		if (number == 0 &&
		    atomic_compare_exchange_strong(place, &number, mine))
			return mine;
		if (equal(p, inv_profile_at(number))) {
			give_back(mine);
			return number;
		}
	}
	give_back(mine);
	inv_shortage(INV_SHORTAGE_PROFILE);
	return INV_PROFILE_NONE;
}

static void copy(struct inv_profile *p, uint32_t number)
{
	memset(p, 0, sizeof(*p));
	memcpy(p, inv_profile_at(number), KEY);
}

static void drop_tracers(struct inv_profile *p)
{
	uint32_t mask = inv_profile_sessions(p);
	uint32_t slot;

	for (slot = 0; slot < INV_PROFILE_SESSIONS; slot++)
		if (!(mask >> slot & 1))
			p->tracer[slot] = 0;
}

uint32_t inv_profile_edit(uint32_t number, const struct inv_edit *edit)
{
	uint32_t bit = UINT32_C(1) << edit->slot;
	struct inv_profile p;
	unsigned f;

	copy(&p, number);
	for (f = 0; f < INV_FLAGS; f++) {
		if (edit->clear >> f & 1)
			p.sessions[f] &= ~bit;
		if (edit->set >> f & 1)
			p.sessions[f] |= bit;
	}
	p.sessions[INV_FLAG_USED_UP] &= ~bit;
	if (edit->set != 0 && edit->tracer != INV_ENGINE_TRACER_AS_IT_IS)
		p.tracer[edit->slot] = edit->tracer;
	drop_tracers(&p);
	return number_of(&p);
}

/*
 * Returns the sessions that have `flag' or the next flag in enum inv_flag.
 * `flag' is set_on_spawn or set_on_link; the next flag is set_on_first_spawn or
 * set_on_first_link.
 */
static uint32_t passing(const struct inv_profile *p, enum inv_flag flag)
{
	return p->sessions[flag] | p->sessions[flag + 1];
}

/* Clears `flag' and the next flag in enum inv_flag for the sessions in the
 * mask. */
static void done(struct inv_profile *p, enum inv_flag flag, uint32_t sessions)
{
	p->sessions[flag] &= ~sessions;
	p->sessions[flag + 1] &= ~sessions;
	p->sessions[INV_FLAG_USED_UP] |= sessions & ~having_flags(p);
}

static void pass_tracers(struct inv_profile *to, const struct inv_profile *from,
			 uint32_t sessions)
{
	for (; sessions != 0; sessions &= sessions - 1) {
		int slot = __builtin_ctz(sessions);

		to->tracer[slot] = from->tracer[slot];
	}
}

static uint32_t find_child(uint32_t number, uint32_t new)
{
	const struct inv_profile *parent = inv_profile_at(number);
	uint32_t mask = passing(parent, INV_FLAG_ON_SPAWN);
	struct inv_profile p;
	unsigned f;

	copy(&p, new);
	for (f = 0; f < INV_FLAGS; f++)
		p.sessions[f] = (p.sessions[f] & ~mask) |
				(parent->sessions[f] & mask);
	p.sessions[INV_FLAG_USED_UP] &= ~mask;
	pass_tracers(&p, parent, mask);
	done(&p, INV_FLAG_ON_SPAWN, parent->sessions[INV_FLAG_ON_FIRST_SPAWN]);
	drop_tracers(&p);
	return number_of(&p);
}

/*
 * The result depends not only on `number', but also on the profile of new
 * processes, which can change. So the cache has both: the result, and the
 * profile of new processes with which it was computed.
 */
uint32_t inv_profile_child(uint32_t number)
{
	_Atomic uint64_t *known = &table->profile[number].child;
	uint32_t new = inv_profile_of_new(INV_NEW_PROCESSES);
	uint64_t found = atomic_load_explicit(known, memory_order_acquire);
	uint32_t child;

	if (found >> 32 == (uint64_t) new + 1)
		return (uint32_t)found;
	child = find_child(number, new);
	if (child != INV_PROFILE_NONE)
		atomic_store_explicit(known, ((uint64_t) new + 1) << 32 | child,
				      memory_order_release);
	return child;
}

static uint32_t after(uint32_t number, enum inv_flag flag)
{
	uint32_t first = inv_profile_at(number)->sessions[flag + 1];
	struct inv_profile p;

	if (first == 0)
		return number;
	copy(&p, number);
	done(&p, flag, first);
	drop_tracers(&p);
	return number_of(&p);
}

uint32_t inv_profile_after_spawn(uint32_t number)
{
	return after(number, INV_FLAG_ON_SPAWN);
}

uint32_t inv_profile_after_link(uint32_t number)
{
	return after(number, INV_FLAG_ON_LINK);
}

static uint32_t linked(uint32_t other, uint32_t number, bool replaces)
{
	const struct inv_profile *from = inv_profile_at(number);
	uint32_t mask = passing(from, INV_FLAG_ON_LINK);
	struct inv_profile p;
	unsigned f;

	if (mask == 0)
		return other;
	copy(&p, other);
	for (f = 0; f < INV_FLAGS; f++) {
		if (replaces)
			p.sessions[f] &= ~mask;
		p.sessions[f] |= from->sessions[f] & mask;
	}
	p.sessions[INV_FLAG_USED_UP] &= ~mask;
	pass_tracers(&p, from, mask);
	done(&p, INV_FLAG_ON_LINK, from->sessions[INV_FLAG_ON_FIRST_LINK]);
	drop_tracers(&p);
	return number_of(&p);
}

uint32_t inv_profile_linked(uint32_t other, uint32_t number)
{
	return linked(other, number, false);
}

uint32_t inv_profile_spawn_linked(uint32_t child, uint32_t number)
{
	return linked(child, number, true);
}

uint32_t inv_profile_of_new(enum inv_new what)
{
	return atomic_load_explicit(&table->new[what], memory_order_acquire);
}

void inv_profile_set_new(enum inv_new what, uint32_t number)
{
	atomic_store_explicit(&table->new[what], number, memory_order_release);
}
