/* SPDX-License-Identifier: Apache-2.0 */
#include "report/charts.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static void free_chart(struct inv_chart *x)
{
	if (x)
		inv_hops_release(&x->hops);
	free(x);
}

void inv_charts_release(struct inv_charts *c)
{
	for (size_t i = 0; i < c->n_live; i++)
		free_chart(c->live[i]);
	for (size_t i = 0; i < c->n_kept; i++)
		free_chart(c->kept[i]);
	memset(c, 0, sizeof(*c));
}

static int64_t duration(const struct inv_chart *x)
{
	return (int64_t)((uint64_t)x->last_ns - (uint64_t)x->first_ns);
}

/* Keeps the chart if it is one of the slowest, and frees it otherwise. */
static void keep(struct inv_charts *c, struct inv_chart *x)
{
	size_t low = 0;

	if (c->n_kept < INV_CHARTS_KEPT) {
		c->kept[c->n_kept++] = x;
		return;
	}
	for (size_t i = 1; i < c->n_kept; i++)
		if (duration(c->kept[i]) < duration(c->kept[low]))
			low = i;
	if (duration(x) > duration(c->kept[low])) {
		free_chart(c->kept[low]);
		c->kept[low] = x;
	} else {
		free_chart(x);
	}
}

/* Makes room for a new request: stops collecting the hops of the request whose
 * last event is the oldest. */
static void evict(struct inv_charts *c)
{
	size_t oldest = 0;

	for (size_t i = 1; i < c->n_live; i++)
		if (c->live[i]->used < c->live[oldest]->used)
			oldest = i;
	keep(c, c->live[oldest]);
	c->live[oldest] = c->live[--c->n_live];
}

static struct inv_chart *new_chart(struct inv_charts *c, uint64_t request,
				   int64_t ts_ns)
{
	struct inv_chart *x;

	if (c->n_live == INV_CHARTS_LIVE)
		evict(c);
	x = calloc(1, sizeof(*x));
	if (!x || inv_hops_init(&x->hops, INV_CHARTS_MEMORY)) {
		free_chart(x);
		return NULL;
	}
	x->request = request;
	x->first_ns = ts_ns;
	c->last = c->n_live;
	c->live[c->n_live++] = x;
	return x;
}

static struct inv_chart *chart_of(struct inv_charts *c, uint64_t request)
{
	if (c->last < c->n_live && c->live[c->last]->request == request)
		return c->live[c->last];
	for (size_t i = 0; i < c->n_live; i++)
		if (c->live[i]->request == request) {
			c->last = i;
			return c->live[i];
		}
	return NULL;
}

int inv_charts_add(struct inv_charts *c, const struct inv_item *it,
		   const struct inv_print_opts *o)
{
	const struct inv_cause *cause = it->facts ? it->facts->cause : NULL;
	struct inv_chart *x;

	if (!cause)
		return 0;
	x = chart_of(c, cause->request);
	if (!x)
		x = new_chart(c, cause->request, it->ts_ns);
	if (!x)
		return INV_ENOMEM;
	x->used = ++c->clock;
	x->last_ns = it->ts_ns;
	return inv_hops_add(&x->hops, it, o);
}

static int compare(const void *a, const void *b)
{
	const struct inv_chart *x = *(struct inv_chart *const *)a;
	const struct inv_chart *y = *(struct inv_chart *const *)b;

	return (duration(x) < duration(y)) - (duration(x) > duration(y));
}

int inv_charts_finish(struct inv_charts *c)
{
	int rc = 0;

	while (c->n_live)
		evict(c);
	if (c->n_kept)
		qsort(c->kept, c->n_kept, sizeof(*c->kept), compare);
	for (size_t i = 0; !rc && i < c->n_kept; i++)
		rc = inv_hops_finish(&c->kept[i]->hops);
	return rc;
}
