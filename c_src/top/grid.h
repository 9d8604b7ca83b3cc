/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TOP_GRID_H
#define INV_TOP_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A screen of characters in memory. What is drawn here can be tested, printed
 * as text, or shown on a terminal (top/terminal.h).
 *
 * The widths of characters depend on the locale (wcwidth): the program must
 * have called setlocale(LC_CTYPE, ...).
 */
enum inv_grid_look {
	INV_LOOK_PLAIN,
	INV_LOOK_HEAD, /* titles of columns */
	INV_LOOK_SORT, /* the title of the column by which rows are sorted */
	INV_LOOK_CHOSEN,
	INV_LOOK_BOLD,
	INV_LOOK_DIM,
	INV_LOOK_WARN,
	INV_LOOKS
};

struct inv_grid_cell {
	uint32_t c;   /* a character; 0: second column of a wide character */
	uint8_t look; /* enum inv_grid_look */
};

struct inv_grid {
	unsigned rows, columns;
	struct inv_grid_cell *cells; /* private */
};

/* Makes the grid empty, with the given size, which is at most
 * INV_GRID_MAX in each direction. Returns 0 or INV_ENOMEM. */
#define INV_GRID_MAX 1000
int inv_grid_resize(struct inv_grid *g, unsigned rows, unsigned columns);
void inv_grid_release(struct inv_grid *g);

static inline const struct inv_grid_cell *inv_grid_at(const struct inv_grid *g,
						      unsigned row,
						      unsigned column)
{
	return &g->cells[(size_t)row * g->columns + column];
}

/*
 * Writes text, UTF-8, at a place of the grid, in at most `width' columns.
 * Returns how many columns it took. If the text is longer, its last column is
 * '~'. What a terminal cannot show as characters, such as control characters,
 * becomes '?'. Places outside of the grid are ignored.
 */
unsigned inv_grid_put(struct inv_grid *g, unsigned row, unsigned column,
		      unsigned width, const char *text,
		      enum inv_grid_look look);
/* Like inv_grid_put, but the text ends in the last column of the width. */
void inv_grid_right(struct inv_grid *g, unsigned row, unsigned column,
		    unsigned width, const char *text, enum inv_grid_look look);
/* Gives the whole row a look. */
void inv_grid_look(struct inv_grid *g, unsigned row, enum inv_grid_look look);

/* Appends a row as UTF-8, without spaces at its end, and a newline. */
void inv_grid_text(const struct inv_grid *g, unsigned row, struct inv_buf *b);

/* Returns how many columns the text takes. */
unsigned inv_grid_width(const char *text);

#endif
