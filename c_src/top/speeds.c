/* SPDX-License-Identifier: Apache-2.0 */
#include "top/speeds.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/uthash.h"
#include "sink/rank.h"

/* The key in the hash table consists of the name of the node, a byte 0, and the
 * key of a row of a ranking (flow/ranking.h). The name is empty if the row is
 * the sum over several nodes. */
struct inv_speed_entry {
	struct inv_speed v; /* first: inv_speeds_next casts */
	UT_hash_handle hh;
	bool stored;
	size_t id_len;
	char id[];
};

static void forget(struct inv_speed_entry *e)
{
	free(e->v.name);
	free(e);
}

void inv_speeds_release(struct inv_speeds *s)
{
	struct inv_speed_entry *e;
	struct inv_speed_entry *next;

	HASH_ITER (hh, s->entries, e, next) {
		HASH_DEL(s->entries, e);
		forget(e);
	}
	s->ms = 0;
}

static void put_id(struct inv_buf *b, const char *node, const char *key)
{
	inv_buf_puts(b, node ? node : "");
	inv_buf_putc(b, 0);
	inv_buf_puts(b, key);
	inv_buf_putc(b, 0);
}

static struct inv_speed_entry *find(const struct inv_speeds *s,
				    const struct inv_buf *id)
{
	struct inv_speed_entry *e;

	if (id->error)
		return NULL;
	HASH_FIND(hh, s->entries, id->data, id->len, e);
	return e;
}

const struct inv_speed *inv_speeds_find(const struct inv_speeds *s,
					const char *node, const char *key)
{
	struct inv_buf id = { 0 };
	const struct inv_speed_entry *e;

	put_id(&id, node, key);
	e = find(s, &id);
	inv_buf_release(&id);
	return e ? &e->v : NULL;
}

static struct inv_speed_entry *add(struct inv_speeds *s,
				   const struct inv_buf *id)
{
	struct inv_speed_entry *e = id->error ? NULL :
						calloc(1, sizeof(*e) + id->len);

	if (!e)
		return NULL;
	memcpy(e->id, id->data, id->len);
	e->id_len = id->len;
	e->stored = true;
	e->v.node = *e->id ? e->id : NULL;
	e->v.key = e->id + strlen(e->id) + 1;
	HASH_ADD_KEYPTR(hh, s->entries, e->id, e->id_len, e);
	if (e->stored)
		return e;
	free(e);
	return NULL;
}

static int set_name(struct inv_speed *v, const struct inv_rank *r,
		    const struct inv_flow *flow)
{
	struct inv_ranking_opts o = { 0 };
	struct inv_rank nameless = *r;
	struct inv_buf b = { 0 };

	nameless.one_node = false;
	if (r->key->of == INV_COUNT_PROCESS)
		inv_buf_puts(&b, r->name);
	else
		inv_rank_text(&o, flow, &nameless, &b);
	inv_buf_putc(&b, 0);
	if (b.error) {
		inv_buf_release(&b);
		return INV_ENOMEM;
	}
	free(v->name);
	v->name = (char *)b.data;
	return 0;
}

static void set_times(struct inv_speed *v, const struct inv_rank *r)
{
	const struct inv_histogram *h = r->times;

	v->timed = h && h->n;
	v->unpaired = h ? h->unpaired : 0;
	v->min = h ? h->min : 0;
	v->max = h ? h->max : 0;
	v->sum = h ? h->sum : 0;
	memcpy(v->quantiles, r->quantiles, sizeof(v->quantiles));
}

static int take_rank(struct inv_speeds *s, const struct inv_rank *r,
		     const struct inv_flow *flow, uint64_t passed)
{
	struct inv_buf id = { 0 };
	struct inv_speed_entry *e;
	bool others = r->key->of == INV_COUNT_OTHERS;

	put_id(&id, r->one_node ? r->key->node->name : NULL, r->key->key);
	e = find(s, &id);
	if (!e)
		e = add(s, &id);
	inv_buf_release(&id);
	if (!e || set_name(&e->v, r, flow))
		return INV_ENOMEM;
	if (passed)
		e->v.speed = r->n > e->v.n ? (double)(r->n - e->v.n) * 1000 /
						     (double)passed :
					     0;
	else if (!e->v.n)
		e->v.speed = -1;
	if (passed || !e->v.n)
		e->v.n = r->n;
	e->v.others = others;
	set_times(&e->v, r);
	return 0;
}

int inv_speeds_take(struct inv_speeds *s, const struct inv_ranking *r,
		    const struct inv_flow *flow, uint64_t ms)
{
	uint64_t passed = ms > s->ms ? ms - s->ms : 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < r->n; i++)
		rc = take_rank(s, &r->v[i], flow, passed);
	if (passed)
		s->ms = ms;
	return rc;
}

size_t inv_speeds_n(const struct inv_speeds *s)
{
	return HASH_COUNT(s->entries);
}

const struct inv_speed *inv_speeds_next(const struct inv_speeds *s,
					const struct inv_speed *entry)
{
	const struct inv_speed_entry *e =
		(const struct inv_speed_entry *)(const void *)entry;

	e = e ? e->hh.next : s->entries;
	return e ? &e->v : NULL;
}
