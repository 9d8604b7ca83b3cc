/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_FIT_H
#define INV_SINK_FIT_H

#include <stddef.h>

#include "base/buf.h"

/*
 * Cuts each line of out, from byte `from' on, to at most width columns: the end
 * of a longer line is replaced by "…". The text is UTF-8. Escape sequences that
 * set colours take no column; a line that is cut ends with `reset'. spare is
 * working memory. width must be more than 0.
 */
void inv_fit_lines(struct inv_buf *out, size_t from, unsigned width,
		   const char *reset, struct inv_buf *spare);

/* Like inv_fit_lines, but a longer line is continued on the next line, after
 * spaces. */
void inv_fit_wrap(struct inv_buf *out, size_t from, unsigned width,
		  struct inv_buf *spare);

/* Returns how many columns of a terminal the text takes. Escape sequences take
 * none. */
unsigned inv_fit_columns(const void *text, size_t len);

#endif
