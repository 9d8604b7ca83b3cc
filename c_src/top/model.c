/* SPDX-License-Identifier: Apache-2.0 */
#include "top/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define SHORTEST_NS 100000000

int inv_board_init(struct inv_board *t, const char *const *names, size_t n)
{
	memset(t, 0, sizeof(*t));
	t->by[INV_TOP_PROCESSES] = INV_TOP_BY_REDUCTIONS;
	t->by[INV_TOP_FUNCTIONS] = INV_TOP_BY_CALLS;
	t->nodes = calloc(n + 1, sizeof(*t->nodes));
	if (!t->nodes)
		return INV_ENOMEM;
	t->n_nodes = n;
	for (size_t i = 0; i < n; i++) {
		t->nodes[i].name = names[i];
		t->nodes[i].reductions = t->nodes[i].messages = -1;
	}
	return 0;
}

void inv_board_release(struct inv_board *t)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		inv_gauged_release(&t->nodes[i].now);
	for (size_t i = 0; i < INV_TOP_TABLES; i++)
		free(t->rows[i].v);
	inv_speeds_release(&t->functions);
	inv_speeds_release(&t->messages);
	free(t->nodes);
	memset(t, 0, sizeof(*t));
}

/* --- taking --------------------------------------------------------------- */

static void drop_rows(struct inv_top_rows *rows)
{
	free(rows->v);
	rows->v = NULL;
	rows->n = 0;
}

void inv_board_measured(struct inv_board *t, size_t node, struct inv_gauged *g)
{
	struct inv_top_node *n = &t->nodes[node];
	int64_t ns = g->now_ns - n->now.now_ns;
	double reds;

	/* The VM adds up the reductions of its threads only now and then, so
	 * the difference over a short time is not exact. If only a short time
	 * has passed, the older numbers are kept for the next difference. */
	if (n->measured && ns < SHORTEST_NS) {
		g->reductions = n->now.reductions;
		g->now_ns = n->now.now_ns;
	} else if (n->measured) {
		reds = (double)(g->reductions - n->now.reductions);
		n->reductions = reds < 0 ? -1 : reds * 1e9 / (double)ns;
	}
	drop_rows(&t->rows[INV_TOP_PROCESSES]);
	inv_gauged_release(&n->now);
	n->now = *g;
	n->measured = true;
	*n->state = 0;
	memset(g, 0, sizeof(*g));
}

int inv_board_timed(struct inv_board *t, const struct inv_ranking *r,
		    const struct inv_flow *flow, uint64_t ms)
{
	drop_rows(&t->rows[INV_TOP_FUNCTIONS]);
	return inv_speeds_take(&t->functions, r, flow, ms);
}

int inv_board_counted(struct inv_board *t, const struct inv_ranking *r,
		      const struct inv_flow *flow, uint64_t ms)
{
	const struct inv_speed *s = NULL;
	int rc;

	drop_rows(&t->rows[INV_TOP_PROCESSES]);
	rc = inv_speeds_take(&t->messages, r, flow, ms);
	for (size_t i = 0; i < t->n_nodes; i++)
		t->nodes[i].messages = ms ? 0 : -1;
	while (ms && (s = inv_speeds_next(&t->messages, s)))
		for (size_t i = 0; i < t->n_nodes; i++)
			if (s->speed > 0 && s->node &&
			    !strcmp(s->node, t->nodes[i].name))
				t->nodes[i].messages += s->speed;
	return rc;
}

/* --- rows ----------------------------------------------------------------- */

double inv_board_value(const struct inv_top_row *r, enum inv_top_by by)
{
	const struct inv_gauge_row *p = r->process;
	const struct inv_speed *f = r->function;

	switch (by) {
	case INV_TOP_BY_MAILBOX:
		return p ? (double)p->mailbox : -1;
	case INV_TOP_BY_MEMORY:
		return p ? (double)p->memory : -1;
	case INV_TOP_BY_REDUCTIONS:
		return p ? (double)p->speed : -1;
	case INV_TOP_BY_MESSAGES:
		return r->messages;
	case INV_TOP_BY_CALLS:
		return f ? f->speed : -1;
	case INV_TOP_BY_COUNT:
		return f ? (double)f->n : -1;
	case INV_TOP_BY_P50:
		return f && f->timed ? (double)f->quantiles[INV_P50] : -1;
	case INV_TOP_BY_P99:
		return f && f->timed ? (double)f->quantiles[INV_P99] : -1;
	case INV_TOP_BY_MAX:
		return f && f->timed ? (double)f->max : -1;
	case INV_TOP_BY_SUM:
		return f && f->timed ? (double)f->sum : -1;
	default:
		return -1;
	}
}

static int in_order(const void *a, const void *b, void *arg)
{
	const struct inv_top_row *x = a, *y = b;
	enum inv_top_by by = *(const enum inv_top_by *)arg;
	double vx = inv_board_value(x, by), vy = inv_board_value(y, by);

	if (vx != vy)
		return vx < vy ? 1 : -1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return strcmp(x->key, y->key);
}

/* Finds the row that was chosen before the rows changed. */
static void find_chosen(struct inv_board *t, enum inv_top_table table)
{
	struct inv_top_rows *rows = &t->rows[table];
	const struct inv_top_choice *c = &t->choice[table];

	for (size_t i = 0; *c->key && i < rows->n; i++)
		if (rows->v[i].node == c->node &&
		    !strcmp(rows->v[i].key, c->key)) {
			t->chosen[table] = i;
			return;
		}
}

static void order(struct inv_board *t, enum inv_top_table table)
{
	struct inv_top_rows *rows = &t->rows[table];

	if (rows->v) {
		qsort_r(rows->v, rows->n, sizeof(*rows->v), in_order,
			&t->by[table]);
		find_chosen(t, table);
	}
	if (t->chosen[table] >= rows->n)
		t->chosen[table] = rows->n ? rows->n - 1 : 0;
}

static size_t index_of(const struct inv_board *t, const char *node)
{
	for (size_t i = 0; node && i < t->n_nodes; i++)
		if (!strcmp(t->nodes[i].name, node))
			return i;
	return t->n_nodes == 1 ? 0 : INV_TOP_SEVERAL;
}

/* Returns true for the names of inviso's modules and registered processes. */
static bool is_own(const char *name)
{
	return !strncmp(name, "inviso_", 7);
}

static void add_gauged(struct inv_board *t, size_t node,
		       struct inv_top_rows *rows)
{
	const struct inv_gauged *g = &t->nodes[node].now;

	for (size_t i = 0; i < g->n_rows; i++) {
		const struct inv_gauge_row *p = &g->rows[i];
		const struct inv_speed *s = inv_speeds_find(
			&t->messages, t->nodes[node].name, p->pid);
		double unseen = t->nodes[node].messages < 0 ? -1 : 0;
		bool own = is_own(p->name);

		if (own && !t->shows_own)
			continue;
		rows->v[rows->n++] = (struct inv_top_row){
			.node = node,
			.key = p->pid,
			.name = p->name,
			.process = p,
			.own = own,
			.messages = s ? s->speed : unseen,
		};
	}
}

static bool is_gauged(const struct inv_gauged *g, const char *pid)
{
	for (size_t i = 0; i < g->n_rows; i++)
		if (!strcmp(g->rows[i].pid, pid))
			return true;
	return false;
}

/* Adds rows for processes of which only the counts of messages are known. */
static void add_counted(struct inv_board *t, struct inv_top_rows *rows)
{
	const struct inv_speed *s = NULL;

	while ((s = inv_speeds_next(&t->messages, s))) {
		size_t node = index_of(t, s->node);

		if (s->speed <= 0 || s->others || node == INV_TOP_SEVERAL ||
		    is_gauged(&t->nodes[node].now, s->key) ||
		    (is_own(s->name) && !t->shows_own))
			continue;
		rows->v[rows->n++] = (struct inv_top_row){
			.node = node,
			.key = s->key,
			.name = s->name,
			.messages = s->speed,
			.own = is_own(s->name),
		};
	}
}

static int process_rows(struct inv_board *t, struct inv_top_rows *rows)
{
	size_t n = inv_speeds_n(&t->messages);

	for (size_t i = 0; i < t->n_nodes; i++)
		n += t->nodes[i].now.n_rows;
	rows->v = calloc(n + 1, sizeof(*rows->v));
	if (!rows->v)
		return INV_ENOMEM;
	for (size_t i = 0; i < t->n_nodes; i++)
		add_gauged(t, i, rows);
	add_counted(t, rows);
	return 0;
}

static int function_rows(const struct inv_board *t, struct inv_top_rows *rows)
{
	const struct inv_speed *s = NULL;

	rows->v = calloc(inv_speeds_n(&t->functions) + 1, sizeof(*rows->v));
	if (!rows->v)
		return INV_ENOMEM;
	while ((s = inv_speeds_next(&t->functions, s)))
		rows->v[rows->n++] = (struct inv_top_row){
			.node = index_of(t, s->node),
			.key = s->key,
			.name = s->name,
			.function = s,
			.messages = -1,
		};
	return 0;
}

int inv_board_rows(struct inv_board *t)
{
	int rc = 0;

	if (!t->rows[INV_TOP_PROCESSES].v) {
		rc = process_rows(t, &t->rows[INV_TOP_PROCESSES]);
		order(t, INV_TOP_PROCESSES);
	}
	if (!rc && !t->rows[INV_TOP_FUNCTIONS].v) {
		rc = function_rows(t, &t->rows[INV_TOP_FUNCTIONS]);
		order(t, INV_TOP_FUNCTIONS);
	}
	return rc;
}

/* --- what the user does --------------------------------------------------- */

bool inv_board_can_sort(const struct inv_board *t, enum inv_top_table table,
			enum inv_top_by by)
{
	if (table == INV_TOP_FUNCTIONS)
		return by >= INV_TOP_BY_CALLS && by < INV_TOP_BYS;
	return by < INV_TOP_BY_MESSAGES ||
	       (by == INV_TOP_BY_MESSAGES && t->has_messages);
}

void inv_board_sort(struct inv_board *t, enum inv_top_by by)
{
	if (!inv_board_can_sort(t, t->table, by))
		return;
	t->by[t->table] = by;
	order(t, t->table);
}

void inv_board_sort_next(struct inv_board *t, int step)
{
	enum inv_top_by by = t->by[t->table];

	do
		by = (enum inv_top_by)(((int)by + step + INV_TOP_BYS) %
				       INV_TOP_BYS);
	while (!inv_board_can_sort(t, t->table, by));
	inv_board_sort(t, by);
}

void inv_board_move(struct inv_board *t, long by)
{
	struct inv_top_rows *rows = &t->rows[t->table];
	struct inv_top_choice *c = &t->choice[t->table];
	size_t at = t->chosen[t->table];

	if (!rows->n)
		return;
	if (by < 0)
		at = at < (size_t)-by ? 0 : at - (size_t)-by;
	else
		at = rows->n - 1 - at < (size_t)by ? rows->n - 1 :
						     at + (size_t)by;
	t->chosen[t->table] = at;
	c->node = rows->v[at].node;
	snprintf(c->key, sizeof(c->key), "%s", rows->v[at].key);
	/* If the user chooses the first row, no key is stored: when the rows
	 * change, the new first row is the chosen row. */
	if (!at)
		*c->key = 0;
}

void inv_board_show_own(struct inv_board *t, bool show)
{
	t->shows_own = show;
	drop_rows(&t->rows[INV_TOP_PROCESSES]);
}

void inv_board_show(struct inv_board *t, enum inv_top_table table)
{
	if (table != INV_TOP_FUNCTIONS || t->has_functions) {
		t->table = table;
		t->first = 0;
	}
}

const struct inv_top_row *inv_board_chosen(const struct inv_board *t)
{
	const struct inv_top_rows *rows = &t->rows[t->table];

	return t->chosen[t->table] < rows->n ? &rows->v[t->chosen[t->table]] :
					       NULL;
}
