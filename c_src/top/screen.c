/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/units.h"
#include "top/layout.h"
#include "top/run.h"
#include "top/terminal.h"

static struct inv_grid grid;

enum {
	AT_KEYS,
	AT_SIZE,
	AT_CHILD
};

/* --- drawing -------------------------------------------------------------- */

/* Appends what the sessions do: "timed for 12 s", "calls: stopped: ...". */
static void put_sessions(const struct inv_top_run *r, struct inv_buf *b)
{
	size_t arming = 0, ended = 0;
	const struct inv_status *last = NULL;

	for (size_t i = 0; i < r->all.n; i++) {
		const struct inv_member *m = &r->all.v[i];

		if (inv_status_is(&m->status, "arming"))
			arming++;
		if (inv_status_has_why(&m->status)) {
			ended++;
			last = &m->status;
		}
	}
	if (arming)
		inv_buf_puts(b, "  arming");
	if (ended)
		inv_buf_printf(b, "  tracing has stopped: %s%s%s", last->why,
			       *last->text ? ": " : "", last->text);
}

static void draw(struct inv_top_run *r)
{
	struct inv_buf b = { 0 };
	time_t now = time(NULL);
	struct tm tm;
	unsigned rows, columns;

	if (!inv_terminal_takes()) {
		r->dirty = true;
		return;
	}
	inv_terminal_size(&rows, &columns);
	if (inv_grid_resize(&grid, rows, columns) ||
	    inv_board_rows(&r->model)) {
		inv__top_no_memory(r);
		return;
	}
	localtime_r(&now, &tm);
	inv_buf_puts(&b, r->model.frozen ? "inviso top  FROZEN" : "inviso top");
	inv_buf_printf(&b, "  %02d:%02d:%02d  every ", tm.tm_hour, tm.tm_min,
		       tm.tm_sec);
	inv_units_put_ms(&b, r->every_ms);
	put_sessions(r, &b);
	inv_buf_putc(&b, 0);
	inv_layout_screen(&r->model, b.error ? "" : (const char *)b.data,
			  &grid);
	inv_buf_release(&b);
	inv_terminal_show(&grid);
	r->dirty = false;
}

static void noted(void *arg, const char *note)
{
	struct inv_top_run *r = arg;

	snprintf(r->model.note, sizeof(r->model.note), "%s", note);
	r->dirty = true;
}

/* --- keys ----------------------------------------------------------------- */

static void freeze(struct inv_top_run *r)
{
	r->model.frozen = !r->model.frozen;
	r->next_ms = 0;
}

static bool sorted_by(struct inv_top_run *r, int key)
{
	static const struct {
		int key;
		enum inv_top_by by;
	} keys[] = {
		{ 'b', INV_TOP_BY_MAILBOX },	{ 'm', INV_TOP_BY_MEMORY },
		{ 'r', INV_TOP_BY_REDUCTIONS }, { 'g', INV_TOP_BY_MESSAGES },
		{ 'c', INV_TOP_BY_CALLS },	{ 'n', INV_TOP_BY_COUNT },
		{ '5', INV_TOP_BY_P50 },	{ '9', INV_TOP_BY_P99 },
		{ 'x', INV_TOP_BY_MAX },	{ 's', INV_TOP_BY_SUM },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].key == key) {
			inv_board_sort(&r->model, keys[i].by);
			return true;
		}
	return false;
}

static bool moved(struct inv_top_run *r, int key)
{
	struct inv_board *t = &r->model;
	long page = (long)inv_layout_page(t, &grid);

	switch (key) {
	case INV_KEY_UP:
	case 'k':
		inv_board_move(t, -1);
		return true;
	case INV_KEY_DOWN:
	case 'j':
		inv_board_move(t, 1);
		return true;
	case INV_KEY_PAGE_UP:
		inv_board_move(t, -page);
		return true;
	case INV_KEY_PAGE_DOWN:
		inv_board_move(t, page);
		return true;
	case INV_KEY_HOME:
		inv_board_move(t, -(long)t->rows[t->table].n);
		return true;
	case INV_KEY_END:
		inv_board_move(t, (long)t->rows[t->table].n);
		return true;
	default:
		return false;
	}
}

static void pressed(struct inv_top_run *r, int key)
{
	struct inv_board *t = &r->model;

	*t->note = 0;
	if (moved(r, key) || sorted_by(r, key))
		return;
	switch (key) {
	case 'q':
	case 'Q':
	case 3: /* Ctrl-C */
		r->leaving = true;
		inv_watch_stop(&r->watch, "asked");
		break;
	case 'f':
	case ' ':
		freeze(r);
		break;
	case 'h':
	case '?':
	case INV_KEY_HELP:
		t->help = !t->help;
		break;
	case INV_KEY_LEFT:
	case '<':
		inv_board_sort_next(t, -1);
		break;
	case INV_KEY_RIGHT:
	case '>':
		inv_board_sort_next(t, 1);
		break;
	case '\t':
		inv_board_show(t, t->table == INV_TOP_PROCESSES ?
					  INV_TOP_FUNCTIONS :
					  INV_TOP_PROCESSES);
		break;
	case '1':
		inv_board_show(t, INV_TOP_PROCESSES);
		break;
	case '2':
		inv_board_show(t, INV_TOP_FUNCTIONS);
		break;
	case '\r':
	case '\n':
	case 't':
		inv__top_trace(r);
		break;
	case 'i':
		inv_board_show_own(t, !t->shows_own);
		if (inv_board_rows(t))
			inv__top_no_memory(r);
		break;
	case 27: /* Escape */
		t->help = false;
		break;
	default:
		break;
	}
}

/* --- the terminal --------------------------------------------------------- */

static int open_terminal(struct inv_top_run *r)
{
	struct inv_err err = { 0 };

	if (inv_terminal_open(r->cluster.screen, &err)) {
		inv_screen_divert(r->cluster.screen, NULL, NULL);
		inv_screen_note(r->cluster.screen, "%s", err.text);
		return INV_EXIT_USAGE;
	}
	r->more[AT_SIZE].fd = inv_terminal_resized();
	r->showing = INV_TOP_SHOWS_SCREEN;
	r->dirty = true;
	return INV_EXIT_DONE;
}

int inv__top_screen_open(struct inv_top_run *r)
{
	inv_screen_divert(r->cluster.screen, noted, r);
	r->more[AT_KEYS] = (struct pollfd){ STDIN_FILENO, POLLIN, 0 };
	r->more[AT_SIZE] = (struct pollfd){ -1, POLLIN, 0 };
	r->more[AT_CHILD] = (struct pollfd){ -1, POLLIN, 0 };
	r->watch.n_more = AT_CHILD + 1;
	return open_terminal(r);
}

void inv__top_screen_close(struct inv_top_run *r)
{
	inv__top_trace_end(r);
	inv_terminal_close();
	inv_grid_release(&grid);
	inv_screen_divert(r->cluster.screen, NULL, NULL);
}

static void turn_screen(struct inv_top_run *r)
{
	int key;

	while (!r->leaving && r->showing == INV_TOP_SHOWS_SCREEN &&
	       (key = inv_terminal_key()) != INV_KEY_NONE) {
		pressed(r, key);
		r->dirty = true;
	}
	if (r->more[AT_KEYS].revents & (POLLHUP | POLLERR | POLLNVAL)) {
		r->leaving = true;
		inv_watch_stop(&r->watch, "the terminal is closed");
	}
	if (r->more[AT_SIZE].revents)
		r->dirty = true;
	if (r->dirty && !r->leaving && r->showing == INV_TOP_SHOWS_SCREEN)
		draw(r);
}

/* The output of the trace stays visible until the user presses a key. */
static void turn_end(struct inv_top_run *r)
{
	char line[256];

	if (!r->more[AT_KEYS].revents)
		return;
	if (read(STDIN_FILENO, line, sizeof(line)) > 0 || errno == EINTR) {
		if (open_terminal(r))
			r->leaving = true;
		return;
	}
	r->leaving = true;
	inv_watch_stop(&r->watch, "the terminal is closed");
}

void inv__top_screen_turn(struct inv_top_run *r)
{
	static const char returns[] =
		"\n-- press Enter to return to inviso top ";

	switch (r->showing) {
	case INV_TOP_SHOWS_SCREEN:
		turn_screen(r);
		break;
	case INV_TOP_SHOWS_TRACE:
		if (inv__top_trace_ended(r)) {
			inv__top_trace_end(r);
			inv_screen_out(r->cluster.screen, returns,
				       sizeof(returns) - 1);
			r->showing = INV_TOP_SHOWS_END;
		}
		break;
	case INV_TOP_SHOWS_END:
		turn_end(r);
		break;
	}
	/* While a trace runs, the keys are for the trace. */
	r->more[AT_KEYS].fd = r->showing == INV_TOP_SHOWS_TRACE ? -1 :
								  STDIN_FILENO;
	r->more[AT_SIZE].fd = inv_terminal_resized();
	r->more[AT_CHILD].fd = r->child_fd;
	/* Restores the terminal now, because leaving the nodes can take some
	 * time. */
	if (r->leaving && r->showing == INV_TOP_SHOWS_SCREEN)
		inv_terminal_close();
}
