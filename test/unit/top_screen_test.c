/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of `inviso top', without a terminal and without nodes. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "top/figures.h"
#include "top/layout.h"

static struct inv_board top;
static struct inv_grid grid;
static struct inv_buf text;

static int locale(void **state)
{
	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	inv_board_release(&top);
	inv_grid_release(&grid);
	inv_buf_release(&text);
	return 0;
}

/* Returns a row of the grid as text. */
static const char *line(unsigned row)
{
	inv_buf_reset(&text);
	inv_grid_text(&grid, row, &text);
	text.len--;
	inv_buf_putc(&text, 0);
	assert_int_equal(text.error, 0);
	return (const char *)text.data;
}

/* --- figures ---------------------------------------------------------------------- */

static void counts(void **state)
{
	static const struct {
		double v;
		const char *text;
	} known[] = {
		{ -1, "-" },
		{ 0, "0" },
		{ 7, "7" },
		{ 7.46, "7.5" },
		{ 12.34, "12.3" },
		{ 812, "812" },
		{ 999.4, "999" },
		{ 999.6, "1.00k" },
		{ 1234, "1.23k" },
		{ 45678, "45.7k" },
		{ 999499, "999k" },
		{ 999500, "1.00M" },
		{ 4.2e18, "4.2e+03P" },
	};
	char out[INV_FIGURE];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		inv_figure_count(known[i].v, out);
		assert_string_equal(out, known[i].text);
	}
	inv_figure_bytes(1536, out);
	assert_string_equal(out, "1.50K");
	inv_figure_time(1020, out);
	assert_string_equal(out, "1.02 us");
	inv_figure_time(UINT64_MAX, out);
	assert_string_equal(out, "-");
}

static void uptimes(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} known[] = {
		{ -1, "-" },
		{ 59999, "59s" },
		{ 184000, "3m04s" },
		{ 18720000, "5h12m" },
		{ 273600000, "3d04h" },
	};
	char out[INV_FIGURE];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		inv_figure_uptime(known[i].ms, out);
		assert_string_equal(out, known[i].text);
	}
}

/* --- the grid ----------------------------------------------------------------------- */

/* A wide character takes two columns. If only one column is left, the whole
 * character is left out. */
static void characters(void **state)
{
	(void)state;
	inv_grid_resize(&grid, 3, 10);
	assert_int_equal(inv_grid_put(&grid, 0, 0, 10, "né 東京", 0), 7);
	assert_string_equal(line(0), "né 東京");
	assert_int_equal(inv_grid_put(&grid, 1, 0, 6, "né 東京", 0), 6);
	assert_string_equal(line(1), "né 東~");
	inv_grid_put(&grid, 2, 0, 5, "né 東京", 0);
	assert_string_equal(line(2), "né ~");
	inv_grid_right(&grid, 2, 5, 5, "東", 0);
	assert_string_equal(line(2), "né ~    東");
}

/* Texts from a node cannot control the terminal or hide other text. */
static void hostile(void **state)
{
	(void)state;
	inv_grid_resize(&grid, 1, 40);
	inv_grid_put(
		&grid, 0, 0, 40,
		"a\x1b[2Jb\rc\nd\x7f \xe2\x80\xae \xc2\x9b \xff \xcc\x81 e", 0);
	assert_string_equal(line(0), "a?[2Jb?c?d? ? ? ? ? e");
}

static void outside(void **state)
{
	(void)state;
	inv_grid_resize(&grid, 2, 4);
	inv_grid_put(&grid, 2, 0, 4, "x", 0);
	inv_grid_put(&grid, 0, 4, 4, "x", 0);
	inv_grid_put(&grid, 1, 2, 90, "long", 0);
	inv_grid_look(&grid, 7, INV_LOOK_HEAD);
	assert_string_equal(line(0), "");
	assert_string_equal(line(1), "  l~");
	inv_grid_resize(&grid, 5000, 5000);
	assert_int_equal(grid.rows, INV_GRID_MAX);
	inv_grid_resize(&grid, 0, 0);
	inv_grid_put(&grid, 0, 0, 1, "x", 0);
}

/* --- the model ------------------------------------------------------------------------ */

static const char *const names[] = { "a@h", "b@h" };

struct process {
	const char *pid, *name;
	int64_t mailbox, memory, speed;
};

static void measured(size_t node, int64_t s, int64_t reductions,
		     const struct process *p, size_t n)
{
	struct inv_gauged g = { .now_ns = s * 1000000000,
				.uptime_ms = s * 1000,
				.processes = 300,
				.listed = 300,
				.looked = 300,
				.total = 1 << 20,
				.binary = -1,
				.ets = 2048,
				.reductions = reductions,
				.round_ms = 1000 };

	g.rows = calloc(n + 1, sizeof(*g.rows));
	assert_non_null(g.rows);
	for (size_t i = 0; i < n; i++) {
		struct inv_gauge_row *row = &g.rows[g.n_rows++];

		*row = (struct inv_gauge_row){ .mailbox = p[i].mailbox,
					       .memory = p[i].memory,
					       .speed = p[i].speed };
		snprintf(row->pid, sizeof(row->pid), "%s", p[i].pid);
		snprintf(row->name, sizeof(row->name), "%s", p[i].name);
		snprintf(row->kind, sizeof(row->kind), "registered");
		snprintf(row->current, sizeof(row->current), "m:f/1");
	}
	inv_board_measured(&top, node, &g);
	assert_null(g.rows);
}

static const struct process some[] = {
	{ "<0.1.0>", "slow", 900, 5000, 10 },
	{ "<0.2.0>", "large", 0, 9000000, 20 },
	{ "<0.3.0>", "busy", 3, 100, 5000000 },
	{ "<0.4.0>", "inviso_guard", 0, 100, 30 },
	{ "<0.5.0>", "full", 20000, -1, 0 },
};

#define N_SOME (sizeof(some) / sizeof(*some))

static const char *at(size_t i)
{
	const struct inv_top_rows *rows = &top.rows[top.table];

	return i < rows->n ? rows->v[i].name : "";
}

static void begin(size_t nodes)
{
	assert_int_equal(inv_board_init(&top, names, nodes), 0);
	measured(0, 10, 1000, some, N_SOME);
	assert_int_equal(inv_board_rows(&top), 0);
}

static void order(void **state)
{
	(void)state;
	begin(1);
	assert_int_equal(top.rows[INV_TOP_PROCESSES].n, 4);
	assert_string_equal(at(0), "busy");
	inv_board_sort(&top, INV_TOP_BY_MAILBOX);
	assert_string_equal(at(0), "full");
	assert_string_equal(at(1), "slow");
	inv_board_sort(&top, INV_TOP_BY_MEMORY);
	assert_string_equal(at(0), "large");
	/* The memory of the process `full' is unknown, so `full' is last. */
	assert_string_equal(at(3), "full");
	/* The board has no counts of messages, and another table has the times
	 * of functions. So the board ignores these two orders. */
	inv_board_sort(&top, INV_TOP_BY_MESSAGES);
	inv_board_sort(&top, INV_TOP_BY_P99);
	assert_int_equal(top.by[INV_TOP_PROCESSES], INV_TOP_BY_MEMORY);
	inv_board_sort_next(&top, 1);
	assert_int_equal(top.by[INV_TOP_PROCESSES], INV_TOP_BY_REDUCTIONS);
	inv_board_sort_next(&top, 1);
	assert_int_equal(top.by[INV_TOP_PROCESSES], INV_TOP_BY_MAILBOX);
	inv_board_sort_next(&top, -1);
	assert_int_equal(top.by[INV_TOP_PROCESSES], INV_TOP_BY_REDUCTIONS);
	inv_board_show_own(&top, true);
	inv_board_rows(&top);
	assert_int_equal(top.rows[INV_TOP_PROCESSES].n, N_SOME);
}

/* When the order of rows changes, the user's choice stays on the same row. But
 * if the user chose the first row, the new first row is chosen. */
static void choice(void **state)
{
	struct process later[N_SOME];

	(void)state;
	begin(1);
	inv_board_move(&top, 1);
	assert_string_equal(inv_board_chosen(&top)->name, "large");
	memcpy(later, some, sizeof(some));
	later[1].speed = 9000000;
	measured(0, 12, 5000, later, N_SOME);
	inv_board_rows(&top);
	assert_int_equal(top.chosen[INV_TOP_PROCESSES], 0);
	assert_string_equal(inv_board_chosen(&top)->name, "large");
	inv_board_move(&top, 100);
	assert_string_equal(inv_board_chosen(&top)->name, "full");
	inv_board_move(&top, -100);
	measured(0, 14, 5000, some, N_SOME);
	inv_board_rows(&top);
	assert_string_equal(inv_board_chosen(&top)->name, "busy");
	measured(0, 16, 5000, some, 0);
	inv_board_rows(&top);
	assert_null(inv_board_chosen(&top));
	inv_board_move(&top, 1);
}

static void speeds(void **state)
{
	(void)state;
	begin(1);
	assert_true(top.nodes[0].reductions < 0);
	measured(0, 12, 7000, some, N_SOME);
	assert_true(top.nodes[0].reductions == 3000);
	/* The count of reductions is smaller than before, so another VM now has
	 * the name of the node. */
	measured(0, 14, 10, some, N_SOME);
	assert_true(top.nodes[0].reductions == -1);
}

/* Gives the board (the data of the screen) a ranking with one entry, in the
 * form in which inv_ranking_make makes it. */
static void counted(int (*take)(struct inv_board *, const struct inv_ranking *,
				const struct inv_flow *, uint64_t),
		    enum inv_count_of of, const char *key, uint64_t n,
		    uint64_t ms)
{
	static struct inv_node node = { .name = (char *)(uintptr_t) "a@h",
					.number = 9 };
	static struct inv_flow flow;
	struct inv_tallied key_of = { .node = &node, .key = key, .of = of };
	struct inv_histogram times = { .n = n, .max = 77 };
	struct inv_rank rank = { .key = &key_of,
				 .one_node = of == INV_COUNT_PROCESS,
				 .name = (char *)(uintptr_t) "",
				 .n = n,
				 .times = of == INV_COUNT_FUNCTION ? &times :
								     NULL,
				 .quantiles = { 1000, 2000, 3000, 4000 } };
	struct inv_ranking r = { &rank, 1 };

	assert_int_equal(take(&top, &r, &flow, ms), 0);
	assert_int_equal(inv_board_rows(&top), 0);
}

static void functions(void **state)
{
	const struct inv_speed *f;

	(void)state;
	begin(2);
	top.has_functions = true;
	inv_board_show(&top, INV_TOP_FUNCTIONS);
	counted(inv_board_timed, INV_COUNT_FUNCTION, "shop:pay/2", 500, 1000);
	assert_string_equal(at(0), "shop:pay/2");
	f = inv_board_chosen(&top)->function;
	assert_true(f->speed == 500);
	counted(inv_board_timed, INV_COUNT_FUNCTION, "shop:pay/2", 700, 3000);
	f = inv_board_chosen(&top)->function;
	assert_true(f->speed == 100);
	assert_int_equal(f->n, 700);
	/* The nodes have reported no newer counts, so the speed stays. */
	counted(inv_board_timed, INV_COUNT_FUNCTION, "shop:pay/2", 700, 3000);
	f = inv_board_chosen(&top)->function;
	assert_true(f->speed == 100);
	assert_true(inv_board_value(inv_board_chosen(&top), INV_TOP_BY_P99) ==
		    3000);
	assert_true(inv_board_value(inv_board_chosen(&top), INV_TOP_BY_MAX) ==
		    77);
	assert_int_equal(inv_board_chosen(&top)->node, INV_TOP_SEVERAL);
}

/* The gauge (the process that measures the node) reports only some processes. A
 * process with messages is in a row even if the gauge does not report it. */
static void messages(void **state)
{
	(void)state;
	begin(1);
	top.has_messages = true;
	inv_board_sort(&top, INV_TOP_BY_MESSAGES);
	counted(inv_board_counted, INV_COUNT_PROCESS, "<0.2.0>", 500, 1000);
	assert_string_equal(at(0), "large");
	assert_true(top.nodes[0].messages == 500);
	counted(inv_board_counted, INV_COUNT_PROCESS, "<0.77.0>", 4000, 2000);
	assert_string_equal(inv_board_chosen(&top)->key, "<0.77.0>");
	assert_true(inv_board_chosen(&top)->messages == 4000);
}

/* --- the screen ------------------------------------------------------------------------ */

static bool has_line(const char *part)
{
	for (unsigned i = 0; i < grid.rows; i++)
		if (strstr(line(i), part))
			return true;
	return false;
}

static void screen(unsigned rows, unsigned columns)
{
	assert_int_equal(inv_grid_resize(&grid, rows, columns), 0);
	inv_layout_screen(&top, "status", &grid);
}

static void of_80_by_24(void **state)
{
	(void)state;
	begin(2);
	measured(1, 10, 1000, some, N_SOME);
	measured(1, 12, 3000, some, N_SOME);
	snprintf(top.nodes[1].state, sizeof(top.nodes[1].state), "no answer");
	inv_board_rows(&top);
	screen(24, 80);
	assert_string_equal(line(0), "status");
	assert_string_equal(line(1),
			    "node                          up   run q   procs"
			    "  memory  binary     ets  reds/s");
	assert_string_equal(line(2),
			    "a@h                          10s       0     300"
			    "   1.00M       -   2.00K       -");
	assert_string_equal(line(3),
			    "b@h                          12s       0     300"
			    "   1.00M       -   2.00K   1.00k");
	assert_string_equal(line(5),
			    "pid         node name                 mailbox"
			    "  memory *reds/s current function");
	assert_string_equal(line(6),
			    "<0.3.0>     a@h  busy                       3"
			    "     100   5.00M m:f/1");
	assert_true(inv_grid_at(&grid, 6, 0)->look == INV_LOOK_CHOSEN);
	assert_true(has_line("q quit"));
	top.help = true;
	screen(24, 80);
	assert_true(has_line("Enter, t"));
	assert_false(has_line("<0.3.0>"));
}

/* Draws the screen in every size. Drawing must do no harm, and the chosen row
 * must be visible. */
static void sizes(void **state)
{
	(void)state;
	begin(2);
	top.has_functions = true;
	for (unsigned rows = 0; rows < 40; rows++)
		for (unsigned columns = 0; columns < 140; columns += 7) {
			inv_board_move(&top, 1);
			screen(rows, columns);
		}
	inv_board_move(&top, 100);
	screen(8, 80);
	assert_true(has_line("full"));
	assert_false(has_line("busy"));
	inv_board_move(&top, -100);
	screen(8, 80);
	assert_true(has_line("busy"));
}

static void of_many_nodes(void **state)
{
	const char *many[50];

	(void)state;
	for (size_t i = 0; i < 50; i++)
		many[i] = names[i % 2];
	assert_int_equal(inv_board_init(&top, many, 50), 0);
	inv_board_rows(&top);
	screen(24, 80);
	assert_true(has_line("... and 45 more nodes"));
	assert_true(has_line("processes are being looked at"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(uptimes),
		cmocka_unit_test_teardown(characters, tear_down),
		cmocka_unit_test_teardown(hostile, tear_down),
		cmocka_unit_test_teardown(outside, tear_down),
		cmocka_unit_test_teardown(order, tear_down),
		cmocka_unit_test_teardown(choice, tear_down),
		cmocka_unit_test_teardown(speeds, tear_down),
		cmocka_unit_test_teardown(functions, tear_down),
		cmocka_unit_test_teardown(messages, tear_down),
		cmocka_unit_test_teardown(of_80_by_24, tear_down),
		cmocka_unit_test_teardown(sizes, tear_down),
		cmocka_unit_test_teardown(of_many_nodes, tear_down),
	};

	return cmocka_run_group_tests(tests, locale, NULL);
}
