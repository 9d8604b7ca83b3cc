/* SPDX-License-Identifier: Apache-2.0 */
#include "top/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "top/figures.h"

#define NODE_MAX 20 /* columns of a node's name in tables */

/* --- nodes ---------------------------------------------------------------- */

enum {
	NODE_UP,
	NODE_QUEUE,
	NODE_PROCESSES,
	NODE_MEMORY,
	NODE_BINARY,
	NODE_ETS,
	NODE_REDUCTIONS,
	NODE_MESSAGES,
	NODE_COLUMNS
};

static const struct {
	const char *title;
	unsigned width;
} node_columns[NODE_COLUMNS] = {
	[NODE_UP] = { "up", 7 },
	[NODE_QUEUE] = { "run q", 7 },
	[NODE_PROCESSES] = { "procs", 7 },
	[NODE_MEMORY] = { "memory", 7 },
	[NODE_BINARY] = { "binary", 7 },
	[NODE_ETS] = { "ets", 7 },
	[NODE_REDUCTIONS] = { "reds/s", 7 },
	[NODE_MESSAGES] = { "msgs/s", 7 },
};

static void node_figure(const struct inv_top_node *n, int column,
			char out[INV_FIGURE])
{
	const struct inv_gauged *g = &n->now;

	switch (column) {
	case NODE_UP:
		inv_figure_uptime(g->uptime_ms, out);
		break;
	case NODE_QUEUE:
		inv_figure_count((double)g->run_queue, out);
		break;
	case NODE_PROCESSES:
		inv_figure_count((double)g->processes, out);
		break;
	case NODE_MEMORY:
		inv_figure_bytes((double)g->total, out);
		break;
	case NODE_BINARY:
		inv_figure_bytes((double)g->binary, out);
		break;
	case NODE_ETS:
		inv_figure_bytes((double)g->ets, out);
		break;
	case NODE_REDUCTIONS:
		inv_figure_count(n->reductions, out);
		break;
	default:
		inv_figure_count(n->messages, out);
		break;
	}
}

static bool has_column(const struct inv_board *t, int column)
{
	return column != NODE_MESSAGES || t->has_messages;
}

static unsigned name_width(const struct inv_board *t, const struct inv_grid *g)
{
	unsigned used = 0;

	for (int i = 0; i < NODE_COLUMNS; i++)
		if (has_column(t, i))
			used += node_columns[i].width + 1;
	return g->columns > used + 8 ? g->columns - used : 8;
}

static void put_node(const struct inv_board *t, const struct inv_top_node *n,
		     struct inv_grid *g, unsigned row)
{
	unsigned at = name_width(t, g);
	bool old = n->measured && *n->state;
	char text[INV_FIGURE];

	inv_grid_put(g, row, 0, at, n->name, INV_LOOK_BOLD);
	if (!n->measured) {
		inv_grid_put(g, row, at + 1, g->columns,
			     *n->state ? n->state : "is being measured",
			     *n->state ? INV_LOOK_WARN : INV_LOOK_DIM);
		return;
	}
	for (int i = 0; i < NODE_COLUMNS; i++) {
		if (!has_column(t, i))
			continue;
		node_figure(n, i, text);
		inv_grid_right(g, row, at + 1, node_columns[i].width, text,
			       old ? INV_LOOK_DIM : INV_LOOK_PLAIN);
		at += node_columns[i].width + 1;
	}
}

unsigned inv_layout_nodes(const struct inv_board *t, struct inv_grid *g,
			  unsigned row, unsigned most)
{
	unsigned at = name_width(t, g), took = 1;
	size_t shown = t->n_nodes <= most ? t->n_nodes : most ? most - 1 : 0;
	char text[64];

	inv_grid_put(g, row, 0, at, "node", INV_LOOK_HEAD);
	for (int i = 0; i < NODE_COLUMNS; i++) {
		if (!has_column(t, i))
			continue;
		inv_grid_right(g, row, at + 1, node_columns[i].width,
			       node_columns[i].title, INV_LOOK_HEAD);
		at += node_columns[i].width + 1;
	}
	inv_grid_look(g, row, INV_LOOK_HEAD);
	for (size_t i = 0; i < shown; i++)
		put_node(t, &t->nodes[i], g, row + took++);
	if (shown < t->n_nodes) {
		snprintf(text, sizeof(text), "... and %zu more nodes",
			 t->n_nodes - shown);
		inv_grid_put(g, row + took++, 0, g->columns, text,
			     INV_LOOK_DIM);
	}
	return took;
}

/* --- tables --------------------------------------------------------------- */

/* A column with numbers. */
struct column {
	enum inv_top_by by;
	const char *title;
	unsigned width;
	unsigned least; /* the column is shown if the screen has at least this
			   many columns of characters */
	void (*put)(const struct inv_top_row *r, enum inv_top_by by,
		    char out[INV_FIGURE]);
};

static void put_count(const struct inv_top_row *r, enum inv_top_by by,
		      char out[INV_FIGURE])
{
	inv_figure_count(inv_board_value(r, by), out);
}

static void put_bytes(const struct inv_top_row *r, enum inv_top_by by,
		      char out[INV_FIGURE])
{
	inv_figure_bytes(inv_board_value(r, by), out);
}

static void put_time(const struct inv_top_row *r, enum inv_top_by by,
		     char out[INV_FIGURE])
{
	double ns = inv_board_value(r, by);

	inv_figure_time(ns < 0 ? UINT64_MAX : (uint64_t)ns, out);
}

static const struct column columns[] = {
	{ INV_TOP_BY_MAILBOX, "mailbox", 8, 0, put_count },
	{ INV_TOP_BY_MEMORY, "memory", 7, 0, put_bytes },
	{ INV_TOP_BY_REDUCTIONS, "reds/s", 7, 0, put_count },
	{ INV_TOP_BY_MESSAGES, "msgs/s", 7, 0, put_count },
	{ INV_TOP_BY_CALLS, "calls/s", 8, 0, put_count },
	{ INV_TOP_BY_COUNT, "calls", 7, 0, put_count },
	{ INV_TOP_BY_P50, "p50", 8, 0, put_time },
	{ INV_TOP_BY_P99, "p99", 8, 0, put_time },
	{ INV_TOP_BY_MAX, "max", 8, 0, put_time },
	{ INV_TOP_BY_SUM, "sum", 8, 80, put_time },
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

static bool is_shown(const struct inv_board *t, enum inv_top_table table,
		     const struct inv_grid *g, const struct column *c)
{
	return inv_board_can_sort(t, table, c->by) && g->columns >= c->least;
}

/* How many columns of the screen the texts of a row take. */
struct places {
	unsigned pid, node; /* widths; 0: not shown */
	unsigned name, current;
};

static unsigned node_width(const struct inv_board *t)
{
	unsigned most = 4;

	if (t->n_nodes < 2)
		return 0;
	for (size_t i = 0; i < t->n_nodes; i++) {
		unsigned w = inv_grid_width(t->nodes[i].name);

		most = w > most ? w : most;
	}
	return most > NODE_MAX ? NODE_MAX : most;
}

static struct places places(const struct inv_board *t, enum inv_top_table table,
			    const struct inv_grid *g)
{
	struct places p = { 0 };
	unsigned used = 0, left;

	for (size_t i = 0; i < N_COLUMNS; i++)
		if (is_shown(t, table, g, &columns[i]))
			used += columns[i].width + 1;
	if (table == INV_TOP_PROCESSES) {
		p.pid = 11;
		p.node = node_width(t);
		/* On a narrow screen, names of nodes are cut, to leave room for
		 * names of processes. */
		if (p.node && g->columns < used + p.pid + p.node + 32)
			p.node = p.node > 10 ? 10 : p.node;
		used += p.pid + 1 + (p.node ? p.node + 1 : 0);
	}
	left = g->columns > used + 8 ? g->columns - used : 8;
	p.name = left;
	if (table == INV_TOP_PROCESSES && left >= 24) {
		p.name = left / 2;
		p.current = left - p.name - 1;
	}
	return p;
}

static void put_title(const struct inv_board *t, enum inv_top_table table,
		      struct inv_grid *g, unsigned row, const struct places *p)
{
	unsigned at = 0;

	inv_grid_look(g, row, INV_LOOK_HEAD);
	if (p->pid)
		inv_grid_put(g, row, at, p->pid, "pid", INV_LOOK_HEAD);
	at += p->pid ? p->pid + 1 : 0;
	if (p->node)
		inv_grid_put(g, row, at, p->node, "node", INV_LOOK_HEAD);
	at += p->node ? p->node + 1 : 0;
	inv_grid_put(g, row, at, p->name,
		     table == INV_TOP_PROCESSES ? "name" : "function",
		     INV_LOOK_HEAD);
	at += p->name;
	for (size_t i = 0; i < N_COLUMNS; i++) {
		const struct column *c = &columns[i];
		char text[32];
		bool sorted = c->by == t->by[table];

		if (!is_shown(t, table, g, c))
			continue;
		snprintf(text, sizeof(text), "%s%s", sorted ? "*" : "",
			 c->title);
		inv_grid_right(g, row, at, c->width + 1, text,
			       sorted ? INV_LOOK_SORT : INV_LOOK_HEAD);
		at += c->width + 1;
	}
	if (p->current)
		inv_grid_put(g, row, at + 1, p->current, "current function",
			     INV_LOOK_HEAD);
}

/* Writes the name of a row. If a process has a name that is not a registered
 * name, the name is in parentheses. */
static void name_of(const struct inv_top_row *r, char *out, size_t size)
{
	const struct inv_gauge_row *p = r->process;

	if (r->function && r->function->others)
		snprintf(out, size, "(others, beyond the bound)");
	else if (p && *r->name && strcmp(p->kind, "registered") != 0)
		snprintf(out, size, "(%s)", r->name);
	else
		snprintf(out, size, "%s", r->name);
}

static void put_row(const struct inv_board *t, enum inv_top_table table,
		    struct inv_grid *g, unsigned row, const struct places *p,
		    const struct inv_top_row *r)
{
	unsigned at = 0;
	char text[300];

	if (p->pid)
		inv_grid_put(g, row, at, p->pid, r->key, INV_LOOK_PLAIN);
	at += p->pid ? p->pid + 1 : 0;
	if (p->node && r->node != INV_TOP_SEVERAL)
		inv_grid_put(g, row, at, p->node, t->nodes[r->node].name,
			     INV_LOOK_PLAIN);
	at += p->node ? p->node + 1 : 0;
	name_of(r, text, sizeof(text));
	inv_grid_put(g, row, at, p->name, text, INV_LOOK_PLAIN);
	at += p->name;
	for (size_t i = 0; i < N_COLUMNS; i++) {
		const struct column *c = &columns[i];

		if (!is_shown(t, table, g, c))
			continue;
		c->put(r, c->by, text);
		inv_grid_right(g, row, at + 1, c->width, text,
			       c->by == t->by[table] ? INV_LOOK_BOLD :
						       INV_LOOK_PLAIN);
		at += c->width + 1;
	}
	if (p->current && r->process)
		inv_grid_put(g, row, at + 1, p->current, r->process->current,
			     INV_LOOK_DIM);
}

unsigned inv_layout_table(const struct inv_board *t, enum inv_top_table table,
			  struct inv_grid *g, unsigned row, unsigned most)
{
	const struct inv_top_rows *rows = &t->rows[table];
	struct places p = places(t, table, g);
	unsigned took = 1;

	put_title(t, table, g, row, &p);
	for (size_t i = t->first; i < rows->n && took <= most; i++)
		put_row(t, table, g, row + took++, &p, &rows->v[i]);
	if (!rows->n && most)
		inv_grid_put(g, row + took++, 0, g->columns,
			     table == INV_TOP_FUNCTIONS ?
				     "no call yet" :
				     "processes are being looked at",
			     INV_LOOK_DIM);
	return took;
}

/* --- the screen ----------------------------------------------------------- */

/* Writes how many processes the gauges look at, how old the figures are, and
 * what they cost. */
static void put_share(const struct inv_board *t, char *out, size_t size)
{
	int64_t listed = 0, looked = 0, cost = 0, age = 0, round = 0;

	for (size_t i = 0; i < t->n_nodes; i++) {
		const struct inv_gauged *g = &t->nodes[i].now;

		listed += g->listed;
		looked += g->looked < g->listed ? g->looked : g->listed;
		cost = g->cost_ppm > cost ? g->cost_ppm : cost;
		age = g->age_ms > age ? g->age_ms : age;
		round = g->round_ms > round ? g->round_ms : round;
	}
	if (!listed)
		snprintf(out, size, "no process looked at yet");
	else if (age > 5000)
		snprintf(out, size,
			 "processes as of %" PRId64 " s ago: the node is busy",
			 age / 1000);
	else if (looked < listed)
		snprintf(out, size,
			 "%" PRId64 " of %" PRId64 " processes at a time, all "
			 "in %" PRId64 " s, cost %.1f%%",
			 looked, listed, (round + 500) / 1000,
			 (double)cost / 1e4);
	else
		snprintf(out, size, "all %" PRId64 " processes, cost %.1f%%",
			 listed, (double)cost / 1e4);
}

static void put_tabs(const struct inv_board *t, struct inv_grid *g,
		     unsigned row)
{
	static const char *const names[INV_TOP_TABLES] = {
		[INV_TOP_PROCESSES] = "1 processes",
		[INV_TOP_FUNCTIONS] = "2 functions",
	};
	unsigned at = 0;
	char text[120];

	for (unsigned i = 0; i < INV_TOP_TABLES; i++) {
		if (i == INV_TOP_FUNCTIONS && !t->has_functions)
			continue;
		snprintf(text, sizeof(text),
			 i == (unsigned)t->table ? "[%s]" : " %s ", names[i]);
		at += inv_grid_put(g, row, at, g->columns, text,
				   i == (unsigned)t->table ? INV_LOOK_BOLD :
							     INV_LOOK_PLAIN);
	}
	if (t->table == INV_TOP_PROCESSES)
		put_share(t, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%zu functions, since the start",
			 t->rows[INV_TOP_FUNCTIONS].n);
	if (at + 1 < g->columns)
		inv_grid_right(g, row, at + 1, g->columns - at - 1, text,
			       INV_LOOK_DIM);
}

static const char *const help[] = {
	"up, down, PgUp, PgDn, Home, End   choose a row",
	"Enter, t      trace the chosen function, or the messages of the process",
	"left, right   sort by another column; its title has a *",
	"b m r g       processes by mailbox, memory, reductions, messages",
	"c n 5 9 x s   functions by calls/s, calls, p50, p99, max, sum",
	"Tab, 1, 2     show processes or functions",
	"f, space      freeze the screen, or let it go on",
	"i             show or hide the processes of inviso",
	"h, ?          this help",
	"q, Ctrl-C     quit",
	"",
	"reds/s        reductions in a second: the work of a process",
	"msgs/s        messages received in a second (--messages)",
	"memory -      not asked for, because the mailbox is long",
	"(name)        the label of a process, or the function it was started with",
};

static void put_help(struct inv_grid *g, unsigned row, unsigned most)
{
	for (unsigned i = 0; i < sizeof(help) / sizeof(*help) && i < most; i++)
		inv_grid_put(g, row + i, 1, g->columns - 1, help[i],
			     INV_LOOK_PLAIN);
}

static unsigned nodes_room(const struct inv_board *t, const struct inv_grid *g)
{
	unsigned most = g->rows / 4 ? g->rows / 4 : 1;

	return t->n_nodes < most ? (unsigned)t->n_nodes : most;
}

/* Besides the rows of the table, the screen has the rows of the nodes, and five
 * more: status, title of nodes, tabs, title of the table, and keys. */
unsigned inv_layout_page(const struct inv_board *t, const struct inv_grid *g)
{
	unsigned others = nodes_room(t, g) + 5;

	return g->rows > others ? g->rows - others : 1;
}

static void scroll(struct inv_board *t, unsigned page)
{
	size_t chosen = t->chosen[t->table];
	size_t n = t->rows[t->table].n;

	if (chosen < t->first)
		t->first = chosen;
	if (chosen >= t->first + page)
		t->first = chosen - page + 1;
	if (t->first + page > n)
		t->first = n > page ? n - page : 0;
}

void inv_layout_screen(struct inv_board *t, const char *status,
		       struct inv_grid *g)
{
	static const char keys[] =
		"q quit  ? help  Enter trace  f freeze  <-/-> sort  Tab table";
	unsigned page = inv_layout_page(t, g), row = 1;
	bool note = *t->note;

	if (!g->rows)
		return;
	scroll(t, page);
	inv_grid_put(g, 0, 0, g->columns, status,
		     t->frozen ? INV_LOOK_WARN : INV_LOOK_BOLD);
	row += inv_layout_nodes(t, g, row, nodes_room(t, g));
	if (t->help) {
		put_help(g, row + 1, g->rows > row + 2 ? g->rows - row - 2 : 0);
	} else {
		put_tabs(t, g, row++);
		inv_layout_table(t, t->table, g, row, page);
		if (t->rows[t->table].n)
			inv_grid_look(g,
				      row + 1 +
					      (unsigned)(t->chosen[t->table] -
							 t->first),
				      INV_LOOK_CHOSEN);
	}
	inv_grid_look(g, g->rows - 1, INV_LOOK_PLAIN);
	for (unsigned i = 0; i < g->columns; i++)
		inv_grid_put(g, g->rows - 1, i, 1, " ", INV_LOOK_PLAIN);
	inv_grid_put(g, g->rows - 1, 0, g->columns, note ? t->note : keys,
		     note ? INV_LOOK_WARN : INV_LOOK_HEAD);
}
