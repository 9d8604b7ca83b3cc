/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_FIT_H
#define INV_SINK_FIT_H

#include <stddef.h>

#include "base/buf.h"

/*
 * Makes each line from byte `from' of out on at most width columns wide: the
 * rest of a longer one gives way to "…".  The text is UTF-8; escape sequences
 * that set colours take no column, and a line that is cut ends with `reset'.
 * spare is for its use.  width is more than 0.
 */
void inv_fit_lines(struct inv_buf *out, size_t from, unsigned width,
		   const char *reset, struct inv_buf *spare);

/* Columns that a terminal takes for the text, escape sequences left out. */
unsigned inv_fit_columns(const void *text, size_t len);

#endif
