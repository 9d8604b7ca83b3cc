/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/json.h"
#include "cli/report.h"
#include "cli/units.h"
#include "top/layout.h"
#include "top/run.h"

#define WIDTH 120 /* columns of the output if it is not a terminal */

/* --- JSON ----------------------------------------------------------------- */

static void put_speed(struct inv_json *j, const char *key, double v)
{
	inv_json_key(j, key);
	if (v < 0)
		inv_buf_puts(j->out, "null");
	else
		inv_buf_printf(j->out, "%.1f", v);
	j->more = true;
}

static void put_number(struct inv_json *j, const char *key, int64_t v)
{
	if (v < 0)
		inv_json_null(j, key);
	else
		inv_json_int(j, key, v);
}

static void put_memory(struct inv_json *j, const struct inv_gauged *g)
{
	inv_json_open(j, "memory", '{');
	put_number(j, "total", g->total);
	put_number(j, "processes", g->in_processes);
	put_number(j, "binary", g->binary);
	put_number(j, "ets", g->ets);
	put_number(j, "code", g->code);
	put_number(j, "atom", g->atoms);
	inv_json_close(j, '}');
}

static void json_node(const struct inv_board *t, const struct inv_top_node *n,
		      struct inv_json *j)
{
	const struct inv_gauged *g = &n->now;

	inv_json_open(j, NULL, '{');
	inv_json_text(j, "type", "node");
	inv_json_text(j, "node", n->name);
	if (*n->state)
		inv_json_text(j, "error", n->state);
	if (n->measured) {
		inv_json_int(j, "uptime_ms", g->uptime_ms);
		inv_json_int(j, "schedulers", g->schedulers);
		inv_json_int(j, "run_queue", g->run_queue);
		inv_json_int(j, "processes", g->processes);
		inv_json_int(j, "process_limit", g->process_limit);
		inv_json_int(j, "ports", g->ports);
		put_memory(j, g);
		put_speed(j, "reductions_per_s", n->reductions);
		if (t->has_messages)
			put_speed(j, "messages_per_s", n->messages);
		inv_json_int(j, "listed", g->listed);
		inv_json_int(j, "looked_at", g->looked);
		put_number(j, "round_ms", g->round_ms);
		put_number(j, "age_ms", g->age_ms);
		inv_json_int(j, "cost_ppm", g->cost_ppm);
	}
	inv_json_close(j, '}');
	inv_json_line(j);
}

static void json_process(const struct inv_board *t, const struct inv_top_row *r,
			 struct inv_json *j)
{
	const struct inv_gauge_row *p = r->process;

	inv_json_open(j, NULL, '{');
	inv_json_text(j, "type", "process");
	inv_json_text(j, "node", t->nodes[r->node].name);
	inv_json_text(j, "pid", r->key);
	if (*r->name)
		inv_json_text(j, "name", r->name);
	if (p) {
		inv_json_text(j, "name_kind", p->kind);
		inv_json_int(j, "mailbox", p->mailbox);
		put_number(j, "memory", p->memory);
		put_number(j, "reductions_per_s", p->speed);
		inv_json_int(j, "reductions", p->reductions);
		inv_json_text(j, "status", p->status);
		inv_json_text(j, "current", p->current);
	}
	if (t->has_messages)
		put_speed(j, "messages_per_s", r->messages);
	if (r->own)
		inv_json_bool(j, "inviso", true);
	inv_json_close(j, '}');
	inv_json_line(j);
}

static void json_function(const struct inv_board *t,
			  const struct inv_top_row *r, struct inv_json *j)
{
	const struct inv_speed *f = r->function;

	inv_json_open(j, NULL, '{');
	inv_json_text(j, "type", f->others ? "others" : "function");
	inv_json_text(j, "key", f->others ? "others" : f->key);
	if (r->node != INV_TOP_SEVERAL)
		inv_json_text(j, "node", t->nodes[r->node].name);
	inv_json_uint(j, "count", f->n);
	put_speed(j, "calls_per_s", f->speed);
	inv_json_uint(j, "unpaired", f->unpaired);
	if (f->timed) {
		inv_json_uint(j, "min", f->min);
		inv_json_uint(j, "p50", f->quantiles[INV_P50]);
		inv_json_uint(j, "p90", f->quantiles[INV_P90]);
		inv_json_uint(j, "p99", f->quantiles[INV_P99]);
		inv_json_uint(j, "p999", f->quantiles[INV_P999]);
		inv_json_uint(j, "max", f->max);
		inv_json_uint(j, "sum", f->sum);
	}
	inv_json_close(j, '}');
	inv_json_line(j);
}

static size_t shown(const struct inv_top_run *r, enum inv_top_table table)
{
	size_t n = r->model.rows[table].n;

	return r->top && r->top < n ? (size_t)r->top : n;
}

static void print_json(const struct inv_top_run *r, struct inv_buf *b)
{
	const struct inv_board *t = &r->model;
	struct inv_json j = { .out = b };

	for (size_t i = 0; i < t->n_nodes; i++)
		json_node(t, &t->nodes[i], &j);
	for (size_t i = 0; i < shown(r, INV_TOP_PROCESSES); i++)
		json_process(t, &t->rows[INV_TOP_PROCESSES].v[i], &j);
	for (size_t i = 0; i < shown(r, INV_TOP_FUNCTIONS); i++)
		json_function(t, &t->rows[INV_TOP_FUNCTIONS].v[i], &j);
}

/* --- text ----------------------------------------------------------------- */

static void put_lost(const struct inv_top_run *r, struct inv_buf *b)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < r->all.n; i++)
		lost += inv_member_lost(&r->all.v[i]);
	if (lost)
		inv_buf_printf(b, "; %" PRIu64 " events were not counted",
			       lost);
}

static void put_end(const struct inv_top_run *r, struct inv_buf *b)
{
	inv_buf_puts(b, "-- measured for ");
	inv_units_put_ms(b, r->period_ms);
	for (size_t i = 0; i < r->n; i++) {
		const struct inv_gauged *g = &r->model.nodes[i].now;

		inv_buf_printf(b,
			       "; %s: looked at %" PRId64 " of %" PRId64
			       " processes at a time, which took %.2f %% of "
			       "the schedulers",
			       r->names[i], g->looked, g->listed,
			       (double)g->cost_ppm / 1e4);
	}
	put_lost(r, b);
	inv_buf_putc(b, '\n');
}

static void print_text(struct inv_top_run *r, struct inv_buf *b)
{
	struct inv_board *t = &r->model;
	unsigned width = inv_screen_width(), row = 0;
	size_t processes = shown(r, INV_TOP_PROCESSES);
	size_t functions = shown(r, INV_TOP_FUNCTIONS);
	struct inv_grid g = { 0 };

	if (inv_grid_resize(&g,
			    (unsigned)(t->n_nodes + processes + functions + 8),
			    width ? width : WIDTH)) {
		b->error = INV_ENOMEM;
		return;
	}
	row += inv_layout_nodes(t, &g, row, (unsigned)t->n_nodes) + 1;
	row += inv_layout_table(t, INV_TOP_PROCESSES, &g, row,
				processes ? (unsigned)processes : 1);
	if (t->has_functions)
		row += 1 +
		       inv_layout_table(t, INV_TOP_FUNCTIONS, &g, row + 1,
					functions ? (unsigned)functions : 1);
	for (unsigned i = 0; i < row; i++)
		inv_grid_text(&g, i, b);
	inv_grid_release(&g);
	if (!r->quiet)
		put_end(r, b);
}

void inv__top_print(struct inv_top_run *r)
{
	struct inv_buf b = { 0 };

	inv_screen_status(r->cluster.screen, "");
	if (r->json)
		print_json(r, &b);
	else
		print_text(r, &b);
	inv_screen_put(r->cluster.screen, &b);
}
