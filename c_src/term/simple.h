/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_SIMPLE_H
#define INV_TERM_SIMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/cursor.h"
#include "term/print.h"

/*
 * A fast printer for simple packed terms. It reads the bytes itself, and is
 * about twice as fast as inv_term_print. Most recorded terms are simple. These
 * terms are simple: integers, pids, references, binaries, strings, and atoms of
 * printable ASCII without escapes. A tuple, list or map of simple terms is
 * simple, too, if it is complete and not nested too deeply. In the style ~p, a
 * binary or a string is simple only if all its characters are printable ASCII.
 * If the options have definitions of records (o->fields), an atom that may need
 * quotes is not simple.
 *
 * If the next term is not simple, or its bytes are invalid, each of these
 * functions changes nothing and returns false. The caller must then use
 * inv_term_print. The functions also return false if the cursor does not read
 * packed terms, or is not at depth 0. For inv_simple_print the cursor may also
 * be in a tuple, before an element.
 */

/*
 * Prints the next term exactly as inv_term_print does. In the style ~w and
 * without definitions of records, the text is ASCII and contains no double
 * quotes or backslashes, so it needs no escapes in JSON.
 */
bool inv_simple_print(struct inv_cursor *c, struct inv_buf *out,
		      const struct inv_print_opts *o);

/*
 * The next term must be a list. Prints its elements with commas between them,
 * but without brackets. If `ends' is not NULL, sets ends[i] to the offset in
 * `out' after element i, for the first `max' elements. Sets *n to the number of
 * elements.
 */
bool inv_simple_print_elements(struct inv_cursor *c, struct inv_buf *out,
			       const struct inv_print_opts *o, size_t *ends,
			       unsigned max, uint32_t *n);

/* Sets *n to the number of elements of the packed list that begins at p. */
bool inv_simple_count(const uint8_t *p, const uint8_t *end, uint32_t *n);

#endif
