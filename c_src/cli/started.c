/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/started.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/uthash.h"

/* A process that has begun a request, and has not sent a message since. */
struct inv_started_process {
	uint64_t key; /* the process, as inv_seq_pid hashes it */
	bool stored;
	UT_hash_handle hh;
};

int inv_started_init(struct inv_started *s)
{
	memset(s, 0, sizeof(*s));
	s->cursor = malloc(sizeof(*s->cursor));
	return s->cursor ? 0 : INV_ENOMEM;
}

void inv_started_release(struct inv_started *s)
{
	struct inv_started_process *p = s->begun;

	HASH_CLEAR(hh, s->begun);
	while (p) {
		struct inv_started_process *next = p->hh.next;

		free(p);
		p = next;
	}
	free(s->cursor);
	free(s->is_wanted);
	memset(s, 0, sizeof(*s));
}

static int add(struct inv_started *s, uint64_t key)
{
	struct inv_started_process *p;

	HASH_FIND(hh, s->begun, &key, sizeof(key), p);
	if (p)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return INV_ENOMEM;
	p->key = key;
	p->stored = true;
	HASH_ADD(hh, s->begun, key, sizeof(p->key), p);
	if (p->stored)
		return 0;
	free(p);
	return INV_ENOMEM;
}

/* Forgets the process. Returns true if it had begun a request. */
static bool forget(struct inv_started *s, uint64_t key)
{
	struct inv_started_process *p;

	HASH_FIND(hh, s->begun, &key, sizeof(key), p);
	if (!p)
		return false;
	HASH_DEL(s->begun, p);
	free(p);
	return true;
}

int inv_started_item(struct inv_started *s, const struct inv_item *it)
{
	struct inv_beginning b;

	s->over = false;
	if (it->kind == INV_ITEM_LOSS)
		s->lost = true;
	if (!inv_labels_read(&b, s->cursor, it))
		return 0;
	s->over = b.over;
	if (!b.over)
		return add(s, b.process);
	forget(s, b.process);
	return 0;
}

static bool grow(struct inv_started *s, uint64_t n)
{
	bool *more = realloc(s->is_wanted, n * 2 * sizeof(*more));

	if (!more)
		return false;
	memset(more + s->n, 0, (n * 2 - s->n) * sizeof(*more));
	s->is_wanted = more;
	s->n = n * 2;
	return true;
}

bool inv_started_wants(struct inv_started *s, const struct inv_item *it,
		       const struct inv_seq *seq)
{
	const struct inv_cause *cause = it->facts ? it->facts->cause : NULL;
	uint64_t request;

	if (!cause || !seq)
		return true;
	request = cause->request;
	if (request >= s->n && !grow(s, request + 1))
		return true;
	if (!s->is_wanted[request] && !cause->cause &&
	    (forget(s, inv_seq_process(seq)) || s->lost)) {
		s->is_wanted[request] = true;
		s->wanted++;
	}
	return s->is_wanted[request];
}
