/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TOP_TERMINAL_H
#define INV_TOP_TERMINAL_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/screen.h"
#include "top/grid.h"

/*
 * The terminal: shows a grid, and reads keys. Only the terminal of standard
 * input and output is used, because ncurses draws on one terminal at a time.
 *
 *	if (!inv_terminal_open(screen, &err))
 *		... poll standard input and inv_terminal_resized() ...
 *		... inv_terminal_show(&grid), inv_terminal_key() ...
 *	inv_terminal_close();
 *
 * inv_terminal_close restores the terminal; it can be called at any time. After
 * it, inv_terminal_open can be called again.
 */
enum inv_key {
	INV_KEY_NONE,
	INV_KEY_UP = 0x110000, /* above all characters */
	INV_KEY_DOWN,
	INV_KEY_LEFT,
	INV_KEY_RIGHT,
	INV_KEY_PAGE_UP,
	INV_KEY_PAGE_DOWN,
	INV_KEY_HOME,
	INV_KEY_END,
	INV_KEY_HELP,
	INV_KEY_REDRAW,
};

/* Opens the terminal. The thread of the screen `to' writes all output, so that
 * a terminal that accepts no output never blocks the caller. */
int inv_terminal_open(struct inv_screen *to, struct inv_err *err);
void inv_terminal_close(void);

/* inv_terminal_resized returns a descriptor for poll, which is readable when
 * the size of the terminal has changed. inv_terminal_size makes the descriptor
 * unreadable, and returns the size. */
int inv_terminal_resized(void);
void inv_terminal_size(unsigned *rows, unsigned *columns);

/* Returns true if the terminal has accepted all output, so that a grid can be
 * shown. After Ctrl-S in a multiplexer, for example, it accepts no output. */
bool inv_terminal_takes(void);
void inv_terminal_show(const struct inv_grid *g);

/* Returns the next key that was typed, an enum inv_key or a character;
 * INV_KEY_NONE if there is none. */
int inv_terminal_key(void);

#endif
