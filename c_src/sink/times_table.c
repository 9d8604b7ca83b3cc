/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sink/draw.h"
#include "sink/duration.h"
#include "sink/number.h"
#include "sink/rank.h"
#include "sink/times_table.h"

static bool is_known(const struct inv_rank *r)
{
	return r->times && r->times->n;
}

static uint64_t unpaired(const struct inv_rank *r)
{
	return r->times ? r->times->unpaired : 0;
}

static inv_draw_value *put_of(const struct inv_rank *r)
{
	return r->key->measure ? inv_number_short : inv_duration_short;
}

static void put_value(const struct inv_rank *r, uint64_t value,
		      struct inv_buf *b)
{
	struct inv_buf text = { 0 };

	if (is_known(r))
		put_of(r)(value, &text);
	else
		inv_buf_putc(&text, '-');
	inv_buf_putc(&text, 0);
	inv_buf_printf(b, "%8s", text.error ? "" : (const char *)text.data);
	inv_buf_release(&text);
}

static void put_row(const struct inv_tally_table *o,
		    const struct inv_flow *flow, const struct inv_rank *r,
		    struct inv_buf *b)
{
	inv_buf_printf(b, "%9" PRIu64, r->n);
	for (unsigned q = 0; q < INV_QUANTILES; q++)
		put_value(r, r->quantiles[q], b);
	put_value(r, is_known(r) ? r->times->max : 0, b);
	inv_buf_puts(b, "  ");
	inv_rank_text(&o->rows, flow, r, b);
	if (unpaired(r))
		inv_buf_printf(b, " (%" PRIu64 " %s)", unpaired(r),
			       r->key->measure ? "without a value" :
						 "unpaired");
	inv_buf_putc(b, '\n');
}

/* Appends the histogram of a row. */
static void draw(const struct inv_tally_table *o, const struct inv_flow *flow,
		 const struct inv_rank *r, struct inv_buf *b)
{
	const struct inv_histogram *h = r->times;

	if (!is_known(r))
		return;
	inv_buf_putc(b, '\n');
	inv_rank_text(&o->rows, flow, r, b);
	inv_buf_puts(b, ": min ");
	put_of(r)(h->min, b);
	inv_buf_puts(b, ", mean ");
	put_of(r)(h->sum / h->n, b);
	inv_buf_puts(b, ", max ");
	put_of(r)(h->max, b);
	inv_buf_puts(b, r->key->measure ? ", sum " : ", together ");
	put_of(r)(h->sum, b);
	inv_buf_putc(b, '\n');
	inv_draw_histogram(h, put_of(r), b);
}

void inv__times_rows(const struct inv_tally_table *o,
		     const struct inv_flow *flow, const struct inv_ranking *r,
		     struct inv_buf *b)
{
	size_t shown = inv_rank_shown(r->n, o->top);

	if (r->n)
		inv_buf_printf(b, "%9s%8s%8s%8s%8s%8s  %s\n", "count", "p50",
			       "p90", "p99", "p999", "max",
			       o->rows.nodes_only ? "node" : "key");
	for (size_t i = 0; i < shown; i++)
		put_row(o, flow, &r->v[i], b);
	inv_rank_more(shown, r->n, b);
	for (size_t i = 0; i < shown && i < o->drawn; i++)
		draw(o, flow, &r->v[i], b);
}

void inv__times_json(const struct inv_rank *r, struct inv_json *j)
{
	static const char *const names[INV_QUANTILES] = {
		[INV_P50] = "p50",
		[INV_P90] = "p90",
		[INV_P99] = "p99",
		[INV_P999] = "p999",
	};

	if (r->key->measure)
		inv_json_text(j, "of", r->key->measure);
	inv_json_uint(j, "unpaired", unpaired(r));
	if (!is_known(r))
		return;
	inv_json_uint(j, "min", r->times->min);
	for (unsigned q = 0; q < INV_QUANTILES; q++)
		inv_json_uint(j, names[q], r->quantiles[q]);
	inv_json_uint(j, "max", r->times->max);
	inv_json_uint(j, "sum", r->times->sum);
}
