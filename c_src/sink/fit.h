/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_FIT_H
#define INV_SINK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Cuts each line of out, from byte `from' on, to at most width columns: the end
 * of a longer line is replaced by "…". The text is UTF-8. Escape sequences that
 * set colours take no column; a line that is cut ends with `reset'. spare is
 * working memory. width must be more than 0. Returns how many lines were cut.
 */
size_t inv_fit_lines(struct inv_buf *out, size_t from, unsigned width,
		     const char *reset, struct inv_buf *spare);

/* Like inv_fit_lines, but continues a longer line on the following lines
 * instead of cutting it. Each of these lines begins with spaces. */
void inv_fit_wrap(struct inv_buf *out, size_t from, unsigned width,
		  struct inv_buf *spare);

/*
 * Lays out lines that are longer than width columns. If a bracket does not fit
 * into a line, each of its elements gets a separate line. If a bracket inside
 * such an element still does not fit, its elements get separate lines, too. An
 * atom that begins a tuple stays on the line of the tuple's bracket. Each line
 * has terms of Erlang or Elixir; brackets inside quotes do not count. Some
 * lines can still be longer than width. Returns 0 or INV_ENOMEM.
 */
int inv_fit_pretty(struct inv_buf *out, size_t from, unsigned width);

/* Returns how many lines there are from byte `from' on. */
size_t inv_fit_count(const struct inv_buf *out, size_t from);

/* If out has more than `lines' lines from byte `from' on, keeps the first lines
 * and the last line. Replaces the other lines by one line that says how many
 * were left out. */
void inv_fit_first(struct inv_buf *out, size_t from, unsigned lines);

/* Returns the length in bytes of the character, or colour escape sequence, at
 * p, and sets *columns to its width. Private to the files fit*.c. */
size_t inv__fit_character(const uint8_t *p, size_t n, unsigned *columns);

/* Returns how many columns of a terminal the text takes. Escape sequences take
 * none. */
unsigned inv_fit_columns(const void *text, size_t len);

/* Inserts spaces before the ASCII text that begins at `from', so that it has at
 * least width columns. */
void inv_fit_right(struct inv_buf *out, size_t from, size_t width);

#endif
