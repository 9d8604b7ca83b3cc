/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_REPORT_COLUMNS_H
#define INV_REPORT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A table of aligned columns for a terminal:
 *
 *	struct inv_columns c = { .align = "rl" };
 *
 *	inv_columns_text(&c, "calls");
 *	inv_columns_text(&c, "function");
 *	... and the cells of each row: append to c.text, then inv_columns_next
 *	inv_columns_print(&c, out);
 *
 * Characters that a terminal does not show as themselves become question marks.
 */
struct inv_columns {
	const char *align; /* for each column: r or l */
	struct inv_buf text;
	/* private */
	size_t *ends;
	size_t n;
	size_t cap;
};

/* Ends the cell whose text was appended. */
void inv_columns_next(struct inv_columns *c);
/* Adds a cell. */
void inv_columns_text(struct inv_columns *c, const char *text);
void inv_columns_u64(struct inv_columns *c, uint64_t n);
/* Adds a time, with three digits. */
void inv_columns_ns(struct inv_columns *c, uint64_t ns);

/* Appends the table, and empties it. A cell that is too wide for a column is
 * cut, except in the last column. */
void inv_columns_print(struct inv_columns *c, struct inv_buf *out);

#endif
