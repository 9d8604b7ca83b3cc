/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/ranking.h"

#include <stdlib.h>
#include <string.h>

static const unsigned parts[INV_QUANTILES] = {
	[INV_P50] = 500, [INV_P90] = 900, [INV_P99] = 990, [INV_P999] = 999
};

/* --- which keys belong together ------------------------------------------- */

static int by_key(const struct inv_tallied *a, const struct inv_tallied *b)
{
	int rc = (int)a->of - (int)b->of;

	if (!rc)
		rc = strcmp(a->key, b->key);
	return rc ? rc : strcmp(a->node->name, b->node->name);
}

/* Compares what two counts measure: times, or the values of an expression. Only
 * counts that measure the same are added up. */
static int by_measure(const struct inv_tallied *a, const struct inv_tallied *b)
{
	return strcmp(a->measure ? a->measure : "",
		      b->measure ? b->measure : "");
}

/* Compares the keys of two ranks. Returns 0 if the ranks are to be added up. */
static int compare(const struct inv_ranking_opts *o, const struct inv_rank *a,
		   const struct inv_rank *b)
{
	int rc = 0;

	if (!o->nodes_only) {
		rc = (int)a->key->of - (int)b->key->of;
		if (!rc && o->kinds && a->key->of == INV_COUNT_PROCESS)
			rc = strcmp(a->name, b->name);
		else if (!rc)
			rc = strcmp(a->key->key, b->key->key);
	}
	if (!rc)
		rc = by_measure(a->key, b->key);
	if (!rc && a->one_node)
		rc = strcmp(a->key->node->name, b->key->node->name);
	return rc;
}

static int in_order(const void *a, const void *b, void *arg)
{
	const struct inv_rank *ra = a;
	const struct inv_rank *rb = b;
	int rc = compare(arg, ra, rb);

	return rc ? rc : by_key(ra->key, rb->key);
}

static bool is_wanted(const struct inv_ranking_opts *o,
		      const struct inv_tallied *k)
{
	if (o->nodes_only)
		return true;
	return k->of != INV_COUNT_TOTAL &&
	       (k->of != INV_COUNT_OTHERS || k->n > 0);
}

static bool is_one_node(const struct inv_ranking_opts *o,
			const struct inv_tallied *k)
{
	return o->by_node || o->nodes_only ||
	       (k->of == INV_COUNT_PROCESS && !o->kinds);
}

/* --- adding up ------------------------------------------------------------ */

/*
 * Returns the name of a process, or an empty text if the name is unknown.
 * Returns NULL if there is no memory.
 */
static char *name_of(struct inv_flow *flow, const struct inv_tallied *k)
{
	struct inv_token tok = { .kind = k->kind,
				 .id = { k->number, k->serial } };
	struct inv_identity id;

	if (k->of != INV_COUNT_PROCESS ||
	    !inv_flow_identify(flow, k->node, NULL, &tok, &id) || !id.name.len)
		return strdup("");
	return strndup(id.name.text, id.name.len);
}

/* Makes one rank for each counted key. */
static int take_keys(struct inv_ranking *r, const struct inv_tallies *t,
		     struct inv_flow *flow, const struct inv_ranking_opts *o)
{
	const struct inv_tallied *k = NULL;

	while ((k = inv_tallies_next(t, k))) {
		bool counts = !o->nodes_only || k->of == INV_COUNT_TOTAL;

		if (!is_wanted(o, k))
			continue;
		r->v[r->n] = (struct inv_rank){
			.key = k,
			.one_node = is_one_node(o, k),
			.name = name_of(flow, k),
			.processes = k->of == INV_COUNT_PROCESS,
			.n = counts ? k->n : 0,
			.times = k->times,
		};
		if (!r->v[r->n++].name)
			return INV_ENOMEM;
	}
	return 0;
}

static void forget(struct inv_rank *r)
{
	if (r->sum)
		inv_histogram_release(r->sum);
	free(r->sum);
	free(r->name);
}

/* Adds the counts and times of rank o to rank r. */
static int add(struct inv_rank *r, const struct inv_rank *o)
{
	r->n += o->n;
	r->processes += o->processes;
	if (!o->times)
		return 0;
	if (!r->times) {
		r->times = o->times;
		return 0;
	}
	if (!r->sum) {
		r->sum = calloc(1, sizeof(*r->sum));
		if (!r->sum || inv_histogram_add(r->sum, r->times))
			return INV_ENOMEM;
		r->times = r->sum;
	}
	return inv_histogram_add(r->sum, o->times);
}

static int add_up(struct inv_ranking *r, const struct inv_ranking_opts *o)
{
	size_t all = r->n;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < all; i++) {
		if (n > 0 && !compare(o, &r->v[n - 1], &r->v[i])) {
			rc = rc ? rc : add(&r->v[n - 1], &r->v[i]);
			forget(&r->v[i]);
		} else {
			r->v[n++] = r->v[i];
		}
	}
	r->n = n;
	return rc;
}

/* --- sorting -------------------------------------------------------------- */

static uint64_t value(const struct inv_rank *r, enum inv_rank_by by)
{
	switch (by) {
	case INV_RANK_COUNT:
		return r->n;
	case INV_RANK_MAX:
		return r->times ? r->times->max : 0;
	case INV_RANK_SUM:
		return r->times ? r->times->sum : 0;
	default:
		return r->quantiles[by - INV_RANK_P50];
	}
}

static int by_value(const void *a, const void *b, void *arg)
{
	const struct inv_rank *ra = a;
	const struct inv_rank *rb = b;
	const enum inv_rank_by *by = arg;
	uint64_t va = value(ra, *by);
	uint64_t vb = value(rb, *by);

	if (va != vb)
		return va < vb ? 1 : -1;
	return by_key(ra->key, rb->key);
}

int inv_ranking_make(struct inv_ranking *r, const struct inv_tallies *t,
		     struct inv_flow *flow, const struct inv_ranking_opts *o)
{
	struct inv_ranking_opts opts = *o;
	int rc;

	*r = (struct inv_ranking){ .v = calloc(inv_tallies_n(t) + 1,
					       sizeof(*r->v)) };
	if (!r->v || take_keys(r, t, flow, o))
		return INV_ENOMEM;
	qsort_r(r->v, r->n, sizeof(*r->v), in_order, &opts);
	rc = add_up(r, o);
	for (size_t i = 0; i < r->n; i++)
		for (unsigned q = 0; r->v[i].times && q < INV_QUANTILES; q++)
			r->v[i].quantiles[q] =
				inv_histogram_quantile(r->v[i].times, parts[q]);
	qsort_r(r->v, r->n, sizeof(*r->v), by_value, &opts.by);
	return rc;
}

void inv_ranking_release(struct inv_ranking *r)
{
	for (size_t i = 0; i < r->n; i++)
		forget(&r->v[i]);
	free(r->v);
	*r = (struct inv_ranking){ 0 };
}
