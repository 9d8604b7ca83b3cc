/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/likely.h"
#include "base/uthash.h"

struct inv_process {
	struct inv_process_key key;
	bool stored;
	bool active;	 /* the process had an event since shrink() last looked
			  * at it; its first event does not count */
	bool registered; /* the name is a registered name */
	bool label;	 /* the name is a label */
	bool early;	 /* the name is from a note that was read before older
			  * events (inv_process_note_name) */
	bool awaited;	 /* inv_process_set_awaited was called */
	uint8_t name_len;
	char *name;  /* NULL: no name is known */
	size_t size; /* bytes that are counted in the table's size */
	struct inv_calls calls;
	struct inv_open_gc gc;
	UT_hash_handle hh;
};

void inv_processes_init(struct inv_processes *ps, size_t most)
{
	memset(ps, 0, sizeof(*ps));
	ps->most = most;
}

static void free_process(struct inv_process *p)
{
	inv_calls_release(&p->calls);
	free(p->name);
	free(p);
}

/* HASH_CLEAR frees only the table. The entries are still linked, so free them
 * one by one. */
void inv_processes_release(struct inv_processes *ps)
{
	struct inv_process *p = ps->table;

	HASH_CLEAR(hh, ps->table);
	while (p) {
		struct inv_process *next = p->hh.next;

		free_process(p);
		p = next;
	}
	ps->last = ps->turn = NULL;
	ps->size = 0;
}

bool inv_process_key(struct inv_process_key *key, const struct inv_node *node,
		     const struct inv_token *tok)
{
	if ((tok->kind != INV_TOK_PID && tok->kind != INV_TOK_PORT) ||
	    tok->node)
		return false;
	key->number = tok->id[0];
	key->serial = tok->kind == INV_TOK_PID ? tok->id[1] : 0;
	key->node = node->number;
	key->kind = tok->kind;
	return true;
}

/* --- finding -------------------------------------------------------------- */

struct inv_process *inv_processes_find(struct inv_processes *ps,
				       const struct inv_process_key *key)
{
	struct inv_process *p = ps->last;

	if (!p || memcmp(&p->key, key, sizeof(*key)) != 0) {
		HASH_FIND(hh, ps->table, key, sizeof(*key), p);
		if (!p)
			return NULL;
		ps->last = p;
	}
	p->active = true;
	return p;
}

void inv_processes_drop(struct inv_processes *ps, struct inv_process *p)
{
	ps->size -= p->size;
	if (ps->last == p)
		ps->last = NULL;
	if (ps->turn == p)
		ps->turn = p->hh.next;
	HASH_DEL(ps->table, p);
	free_process(p);
}

void inv_processes_drop_node(struct inv_processes *ps, uint32_t node)
{
	struct inv_process *next;

	for (struct inv_process *p = ps->table; p; p = next) {
		next = p->hh.next;
		if (p->key.node == node)
			inv_processes_drop(ps, p);
	}
}

/* Sets the process's size, after it has changed. */
static void resize(struct inv_processes *ps, struct inv_process *p)
{
	size_t size = sizeof(*p) + inv_calls_size(&p->calls) + p->name_len;

	ps->size += size - p->size;
	p->size = size;
}

void inv_processes_renew(struct inv_processes *ps, struct inv_process *p)
{
	if (!p->early) {
		inv_processes_drop(ps, p);
		return;
	}
	inv_calls_release(&p->calls);
	resize(ps, p);
}

static void forget(struct inv_processes *ps, struct inv_process *p)
{
	ps->forgotten++;
	ps->forgotten_calls += p->calls.n;
	inv_processes_drop(ps, p);
}

/*
 * Frees memory until the bound is met. Looks at the processes in turn, and
 * forgets each process that had no event since the last look at it, except p.
 * If p alone needs too much memory, the outer half of its open calls is
 * forgotten.
 */
static void shrink(struct inv_processes *ps, struct inv_process *p)
{
	while (ps->size > ps->most && HASH_COUNT(ps->table) > 1) {
		struct inv_process *x = ps->turn ? ps->turn : ps->table;

		ps->turn = x->hh.next;
		if (x == p)
			continue;
		if (!x->active)
			forget(ps, x);
		else
			x->active = false;
	}
	if (ps->size > ps->most && p->calls.n > 1) {
		ps->forgotten_calls += inv_calls_halve(&p->calls);
		resize(ps, p);
	}
}

struct inv_process *inv_processes_get(struct inv_processes *ps,
				      const struct inv_process_key *key)
{
	struct inv_process *p = inv_processes_find(ps, key);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = *key;
	p->stored = true;
	HASH_ADD(hh, ps->table, key, sizeof(p->key), p);
	if (!p->stored) {
		free(p);
		return NULL;
	}
	ps->last = p;
	inv_process_changed(ps, p);
	return p;
}

struct inv_process *inv_processes_next(const struct inv_processes *ps,
				       const struct inv_process *p)
{
	return p ? p->hh.next : ps->table;
}

struct inv_calls *inv_process_calls(struct inv_process *p)
{
	return &p->calls;
}

void inv_process_changed(struct inv_processes *ps, struct inv_process *p)
{
	resize(ps, p);
	if (inv_unlikely(ps->size > ps->most))
		shrink(ps, p);
}

/* --- names ---------------------------------------------------------------- */

struct inv_open_gc *inv_process_gc(struct inv_process *p)
{
	return &p->gc;
}

struct inv_process_name inv_process_name(const struct inv_process *p)
{
	return (struct inv_process_name){ p->name, p->name_len, p->registered,
					  p->label };
}

void inv_process_set_name(struct inv_processes *ps, struct inv_process *p,
			  const void *text, size_t len, bool registered)
{
	char *copy;

	if (!len || len > INV_NAME_MAX ||
	    ((p->registered || p->early) && !registered))
		return;
	copy = malloc(len);
	if (!copy)
		return;
	memcpy(copy, text, len);
	free(p->name);
	p->name = copy;
	p->name_len = (uint8_t)len;
	p->registered = registered;
	p->label = false;
	p->early = false;
	inv_process_changed(ps, p);
}

void inv_process_note_name(struct inv_processes *ps, struct inv_process *p,
			   const void *text, size_t len,
			   enum inv_note_name kind, bool early)
{
	p->early = false;
	inv_process_set_name(ps, p, text, len, kind == INV_NAME_REGISTERED);
	p->label = kind == INV_NAME_LABEL && p->name && !p->registered;
	p->early = early && p->name;
}

bool inv_process_awaits_name(const struct inv_process *p)
{
	return !p->name && !p->awaited;
}

void inv_process_set_awaited(struct inv_process *p)
{
	p->awaited = true;
}

void inv_process_unset_name(struct inv_process *p)
{
	if (!p->registered)
		return;
	free(p->name);
	p->name = NULL;
	p->name_len = 0;
	p->registered = p->label = p->early = false;
}
