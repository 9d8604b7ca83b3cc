/* SPDX-License-Identifier: Apache-2.0 */
#include "top/grid.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "base/err.h"
#include "base/utf8.h"

int inv_grid_resize(struct inv_grid *g, unsigned rows, unsigned columns)
{
	size_t n;
	struct inv_grid_cell *cells;

	rows = rows > INV_GRID_MAX ? INV_GRID_MAX : rows;
	columns = columns > INV_GRID_MAX ? INV_GRID_MAX : columns;
	n = (size_t)rows * columns;
	cells = realloc(g->cells, (n + 1) * sizeof(*cells));
	if (!cells)
		return INV_ENOMEM;
	for (size_t i = 0; i < n; i++)
		cells[i] = (struct inv_grid_cell){ ' ', INV_LOOK_PLAIN };
	g->cells = cells;
	g->rows = rows;
	g->columns = columns;
	return 0;
}

void inv_grid_release(struct inv_grid *g)
{
	free(g->cells);
	memset(g, 0, sizeof(*g));
}

/* Takes a character from the text, and sets its width, 1 or 2. A character
 * without a width, such as a control character, could hide the text around it.
 * So '?' is returned instead of such a character. */
static uint32_t take(const uint8_t **p, const uint8_t *end, unsigned *width)
{
	unsigned n;
	uint32_t c = inv_utf8_get(*p, end, &n);
	int w;

	*p += n;
	*width = 1;
	if (c == INV_CHAR_BAD || inv_char_hidden(c))
		return '?';
	w = wcwidth((wchar_t)c);
	if (w != 1 && w != 2)
		return '?';
	*width = (unsigned)w;
	return c;
}

unsigned inv_grid_width(const char *text)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
	unsigned sum = 0, width;

	while (p < end) {
		take(&p, end, &width);
		sum += width;
	}
	return sum;
}

static void set(struct inv_grid *g, unsigned row, unsigned column, uint32_t c,
		enum inv_grid_look look)
{
	if (row < g->rows && column < g->columns)
		g->cells[(size_t)row * g->columns + column] =
			(struct inv_grid_cell){ c, (uint8_t)look };
}

unsigned inv_grid_put(struct inv_grid *g, unsigned row, unsigned column,
		      unsigned width, const char *text, enum inv_grid_look look)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
	unsigned at = 0, w, left;
	bool cut;

	if (column >= g->columns || row >= g->rows)
		return 0;
	left = g->columns - column;
	width = width < left ? width : left;
	cut = inv_grid_width(text) > width;
	while (p < end && at < width) {
		uint32_t c = take(&p, end, &w);

		if (at + w > width - (cut ? 1 : 0))
			break;
		set(g, row, column + at, c, look);
		if (w == 2)
			set(g, row, column + at + 1, 0, look);
		at += w;
	}
	if (cut && width)
		set(g, row, column + at++, '~', look);
	return at;
}

void inv_grid_right(struct inv_grid *g, unsigned row, unsigned column,
		    unsigned width, const char *text, enum inv_grid_look look)
{
	unsigned w = inv_grid_width(text);

	if (w < width)
		inv_grid_put(g, row, column + width - w, w, text, look);
	else
		inv_grid_put(g, row, column, width, text, look);
}

void inv_grid_look(struct inv_grid *g, unsigned row, enum inv_grid_look look)
{
	for (unsigned i = 0; row < g->rows && i < g->columns; i++)
		g->cells[(size_t)row * g->columns + i].look = (uint8_t)look;
}

void inv_grid_text(const struct inv_grid *g, unsigned row, struct inv_buf *b)
{
	unsigned n = g->columns;
	uint8_t bytes[4];

	while (n && inv_grid_at(g, row, n - 1)->c == ' ')
		n--;
	for (unsigned i = 0; i < n; i++) {
		uint32_t c = inv_grid_at(g, row, i)->c;

		if (c)
			inv_buf_put(b, bytes,
				    (size_t)(inv_utf8_put(bytes, c) - bytes));
	}
	inv_buf_putc(b, '\n');
}
