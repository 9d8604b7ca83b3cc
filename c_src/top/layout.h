/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TOP_LAYOUT_H
#define INV_TOP_LAYOUT_H

#include "top/grid.h"
#include "top/model.h"

/*
 * Draws the whole screen into the grid, in the size that the grid has. Also
 * scrolls, so that the chosen row is visible. Call inv_board_rows before.
 */
void inv_layout_screen(struct inv_board *t, const char *status,
		       struct inv_grid *g);

/* Returns how many rows of a table the screen shows. */
unsigned inv_layout_page(const struct inv_board *t, const struct inv_grid *g);

/* Draw the nodes, or a table: a title in the row `row' of the grid, and at most
 * `most' lines below it. Return how many rows of the grid were drawn. */
unsigned inv_layout_nodes(const struct inv_board *t, struct inv_grid *g,
			  unsigned row, unsigned most);
unsigned inv_layout_table(const struct inv_board *t, enum inv_top_table table,
			  struct inv_grid *g, unsigned row, unsigned most);

#endif
