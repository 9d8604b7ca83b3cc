/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "flow/requests_int.h"

#include <uthash.h>

struct inv_party *inv__party_find(const struct inv_requests *r, uint64_t key)
{
	struct inv_party *p;

	HASH_FIND(hh, r->parties, &key, sizeof(key), p);
	return p;
}

static void forget_party(struct inv_requests *r)
{
	struct inv_party *p = r->turn;

	while (!p || p->active) {
		if (p)
			p->active = false;
		p = p ? p->hh.next : r->parties;
	}
	r->turn = p->hh.next;
	r->counts.forgotten++;
	HASH_DEL(r->parties, p);
	free(p);
}

struct inv_party *inv__party_get(struct inv_requests *r, uint64_t key)
{
	struct inv_party *p = inv__party_find(r, key);

	if (!p) {
		if (HASH_COUNT(r->parties) >= r->most_parties)
			forget_party(r);
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->key = key;
		p->stored = true;
		HASH_ADD(hh, r->parties, key, sizeof(p->key), p);
		if (!p->stored) {
			free(p);
			return NULL;
		}
	}
	p->active = true;
	return p;
}

struct inv_turn *inv__turn_add(struct inv_party *p, const struct inv_seq *s,
			       uint64_t serial)
{
	struct inv_turn *t = &p->turns[p->n];

	p->n = (uint8_t)((p->n + 1) % INV_TURNS);
	*t = (struct inv_turn){ .used = true,
				.label = s->label,
				.serial = serial };
	return t;
}

/*
 * If a process spawns another process on its own node, the VM changes the
 * serial N that the process received last. The new serial is the VM's tagged
 * form of the integer N: 16 * N + 15.
 */
#define TAGGED(n) ((n)*16 + 15)
#define TAGGED_MAX ((UINT64_MAX - 15) / 16)

bool inv__turn_is_tagged(const struct inv_turn *t, uint64_t prev)
{
	return t->replied && t->serial <= TAGGED_MAX &&
	       TAGGED(t->serial) == prev;
}

struct inv_turn *inv__turn_find(struct inv_party *p, uint64_t label,
				uint64_t prev)
{
	struct inv_turn *t;

	for (unsigned i = 0; i < INV_TURNS && (t = inv__turn_past(p, i)); i++)
		if (t->label == label && inv__turn_has_serial(t, prev))
			return t;
	for (unsigned i = 0; i < INV_TURNS && (t = inv__turn_past(p, i)); i++)
		if (t->label == label && inv__turn_is_tagged(t, prev))
			return t;
	return NULL;
}

void inv__parties_release(struct inv_requests *r)
{
	struct inv_party *p = r->parties;

	HASH_CLEAR(hh, r->parties);
	while (p) {
		struct inv_party *next = p->hh.next;

		free(p);
		p = next;
	}
}
