/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/tally_table.h"

#include <inttypes.h>

#include "sink/rank.h"
#include "sink/times_table.h"

static void put_row(const struct inv_tally_table *o,
		    const struct inv_flow *flow, const struct inv_rank *r,
		    uint64_t total, struct inv_buf *b)
{
	double share = total ? 100.0 * (double)r->n / (double)total : 0;

	inv_buf_printf(b, "%14" PRIu64, r->n);
	if (o->ms)
		inv_buf_printf(b, " %12.1f",
			       (double)r->n * 1000 / (double)o->ms);
	inv_buf_printf(b, " %6.1f%%  ", share);
	inv_rank_text(&o->rows, flow, r, b);
	inv_buf_putc(b, '\n');
}

static void put_rows(const struct inv_tally_table *o,
		     const struct inv_tallies *t, const struct inv_flow *flow,
		     const struct inv_ranking *r, struct inv_buf *b)
{
	size_t shown = inv_rank_shown(r->n, o->top);
	struct inv_tallies_sum sum;

	inv_tallies_sum(t, NULL, &sum);
	if (r->n)
		inv_buf_printf(b, "%14s%s %7s  %s\n", "count",
			       o->ms ? "   per second" : "", "share",
			       o->rows.nodes_only ? "node" : "key");
	for (size_t i = 0; i < shown; i++)
		put_row(o, flow, &r->v[i], sum.total, b);
	inv_rank_more(shown, r->n, b);
}

void inv_tally_table_text(const struct inv_tally_table *o,
			  const struct inv_tallies *t, struct inv_flow *flow,
			  struct inv_buf *b)
{
	struct inv_ranking r;

	if (inv_ranking_make(&r, t, flow, &o->rows))
		b->error = INV_ENOMEM;
	else if (o->timed)
		inv__times_rows(o, flow, &r, b);
	else
		put_rows(o, t, flow, &r, b);
	inv_ranking_release(&r);
}

static void put_object(const struct inv_tally_table *o,
		       const struct inv_rank *r, struct inv_json *j)
{
	inv_json_open(j, NULL, '{');
	inv_rank_json(&o->rows, r, j);
	inv_json_uint(j, "count", r->n);
	if (o->timed)
		inv__times_json(r, j);
	if (o->ms)
		inv_json_uint(j, "ms", o->ms);
	inv_json_bool(j, "final", o->final);
	inv_json_close(j, '}');
	inv_json_line(j);
}

void inv_tally_table_json(const struct inv_tally_table *o,
			  const struct inv_tallies *t, struct inv_flow *flow,
			  struct inv_buf *b)
{
	struct inv_json j = { .out = b };
	struct inv_ranking r;

	if (inv_ranking_make(&r, t, flow, &o->rows))
		b->error = INV_ENOMEM;
	for (size_t i = 0; !b->error && i < inv_rank_shown(r.n, o->top); i++)
		put_object(o, &r.v[i], &j);
	inv_ranking_release(&r);
}
