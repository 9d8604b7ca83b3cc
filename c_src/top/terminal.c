/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE_EXTENDED 1
#include "top/terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

/* How long ncurses waits for the rest of a key's sequence. */
#define ESCAPE_MS 25
/* How long to wait at the end until the terminal has accepted all output. */
#define CLOSE_MS 500

static SCREEN *screen;
/* ncurses writes to this file, which is in memory. */
static FILE *drawn;
static struct inv_screen *out;
static struct termios modes; /* before inv_terminal_open */
static int resized = -1;
static struct sigaction before;

static void on_resize(int sig)
{
	int saved = errno;

	(void)sig;
	(void)eventfd_write(resized, 1);
	errno = saved;
}

int inv_terminal_resized(void)
{
	return resized;
}

static int listen_to_sizes(struct inv_err *err)
{
	struct sigaction sa = { .sa_handler = on_resize,
				.sa_flags = SA_RESTART };

	resized = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (resized < 0)
		return inv_err_sys(err, errno, "eventfd");
	/* ncurses installs a handler of SIGWINCH only if there is none. */
	sigaction(SIGWINCH, &sa, &before);
	return 0;
}

static void deaf(void)
{
	if (resized < 0)
		return;
	sigaction(SIGWINCH, &before, NULL);
	close(resized);
	resized = -1;
}

static void colours(void)
{
	// NOLINTNEXTLINE(concurrency-mt-unsafe): only the main thread uses it
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(INV_LOOK_HEAD, COLOR_CYAN, -1);
	init_pair(INV_LOOK_SORT, COLOR_YELLOW, -1);
	init_pair(INV_LOOK_WARN, COLOR_RED, -1);
}

/* Gives the screen's thread what ncurses has written. */
static void give(void)
{
	struct inv_buf b = { 0 };
	int fd = fileno(drawn);
	off_t len = lseek(fd, 0, SEEK_CUR);
	uint8_t *p = len > 0 ? inv_buf_reserve(&b, (size_t)len) : NULL;

	if (p && pread(fd, p, (size_t)len, 0) == len)
		b.len = (size_t)len;
	(void)lseek(fd, 0, SEEK_SET);
	inv_screen_put(out, &b);
}

static void close_drawn(void)
{
	if (drawn)
		fclose(drawn);
	drawn = NULL;
	deaf();
}

/* Opens `drawn' as a second descriptor of the terminal. */
static int open_drawn(struct inv_err *err)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	int rc;

	drawn = fd < 0 ? NULL : fdopen(fd, "w");
	if (drawn && !tcgetattr(fd, &modes))
		return 0;
	rc = inv_err_sys(err, errno, "the terminal");
	if (fd >= 0 && !drawn)
		close(fd);
	return rc;
}

/* Replaces the terminal, as the file to which ncurses writes, by a file in
 * memory. */
static int redirect(struct inv_err *err)
{
	int fd = memfd_create("inviso_top", MFD_CLOEXEC);
	int rc = 0;

	if (fd < 0 || dup3(fd, fileno(drawn), O_CLOEXEC) < 0)
		rc = inv_err_sys(err, errno, "a file in memory");
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ncurses sets the modes of the terminal. Then it draws into memory. */
static int begin(struct inv_err *err)
{
	set_escdelay(ESCAPE_MS);
	screen = newterm(NULL, drawn, stdin);
	if (!screen)
		return inv_err_set(err, INV_EINVAL,
				   "the terminal is not known to ncurses: set "
				   "TERM, or use --once");
	set_term(screen);
	/* Ctrl-C, Ctrl-Z and Ctrl-S are keys here. */
	raw();
	noecho();
	nonl();
	return redirect(err);
}

int inv_terminal_open(struct inv_screen *to, struct inv_err *err)
{
	int rc = listen_to_sizes(err);

	out = to;
	if (!rc)
		rc = open_drawn(err);
	if (!rc)
		rc = begin(err);
	if (rc) {
		inv_terminal_close();
		close_drawn();
		return rc;
	}
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	leaveok(stdscr, TRUE);
	curs_set(0);
	colours();
	return 0;
}

void inv_terminal_close(void)
{
	if (!screen)
		return;
	endwin();
	give();
	(void)inv_screen_drain(out, CLOSE_MS);
	/* endwin has tried to restore these modes, but of the file in memory
	 * instead of the terminal. */
	(void)tcsetattr(STDOUT_FILENO, TCSANOW, &modes);
	delscreen(screen);
	screen = NULL;
	close_drawn();
}

void inv_terminal_size(unsigned *rows, unsigned *columns)
{
	struct winsize w = { 0 };
	eventfd_t n;

	while (!eventfd_read(resized, &n))
		;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row && w.ws_col &&
	    (w.ws_row != LINES || w.ws_col != COLS))
		resizeterm(w.ws_row < INV_GRID_MAX ? w.ws_row : INV_GRID_MAX,
			   w.ws_col < INV_GRID_MAX ? w.ws_col : INV_GRID_MAX);
	*rows = (unsigned)LINES;
	*columns = (unsigned)COLS;
}

bool inv_terminal_takes(void)
{
	return inv_screen_drain(out, 0);
}

static void set_look(uint8_t look)
{
	static const attr_t attrs[INV_LOOKS] = {
		[INV_LOOK_HEAD] = A_BOLD,
		[INV_LOOK_SORT] = A_BOLD | A_UNDERLINE,
		[INV_LOOK_CHOSEN] = A_REVERSE,
		[INV_LOOK_BOLD] = A_BOLD,
		[INV_LOOK_DIM] = A_DIM,
		[INV_LOOK_WARN] = A_BOLD,
	};
	bool coloured = look == INV_LOOK_HEAD || look == INV_LOOK_SORT ||
			look == INV_LOOK_WARN;

	attr_set(attrs[look], coloured ? (short)look : 0, NULL);
}

void inv_terminal_show(const struct inv_grid *g)
{
	erase();
	for (unsigned row = 0; row < g->rows; row++) {
		for (unsigned i = 0; i < g->columns; i++) {
			const struct inv_grid_cell *c = inv_grid_at(g, row, i);
			wchar_t text[] = { (wchar_t)c->c, 0 };

			if (!c->c)
				continue;
			set_look(c->look);
			mvaddnwstr((int)row, (int)i, text, 1);
		}
	}
	attr_set(A_NORMAL, 0, NULL);
	refresh();
	give();
}

static int special(int key)
{
	static const struct {
		int curses, ours;
	} known[] = {
		{ KEY_UP, INV_KEY_UP },
		{ KEY_DOWN, INV_KEY_DOWN },
		{ KEY_LEFT, INV_KEY_LEFT },
		{ KEY_RIGHT, INV_KEY_RIGHT },
		{ KEY_PPAGE, INV_KEY_PAGE_UP },
		{ KEY_NPAGE, INV_KEY_PAGE_DOWN },
		{ KEY_HOME, INV_KEY_HOME },
		{ KEY_END, INV_KEY_END },
		{ KEY_ENTER, '\r' },
		{ KEY_F(1), INV_KEY_HELP },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].curses == key)
			return known[i].ours;
	return INV_KEY_REDRAW;
}

int inv_terminal_key(void)
{
	wint_t c;

	switch (get_wch(&c)) {
	case OK:
		return c ? (int)c : INV_KEY_REDRAW;
	case KEY_CODE_YES:
		return special((int)c);
	default:
		return INV_KEY_NONE;
	}
}
