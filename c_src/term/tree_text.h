/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TREE_TEXT_H
#define INV_TERM_TREE_TEXT_H

#include "term/tree.h"

/*
 * Reads terms from text, in Erlang's syntax or as Erlang prints them: integers
 * (also 16#ff, 1_000 and $a), floats, atoms, strings, tuples, lists, maps, pids
 * <0.1.2>, #Port<0.5>, #Ref<0.1.2.3>, fun m:f/1, and binaries whose segments
 * are integers (also with a size) or strings. The atom '_' may be written
 * without quotes. Comments are skipped.
 *
 * Terms are stored in h and do not point into the text.
 */

/*
 * Reads the term in `text', which must contain exactly one term. A full stop
 * may follow the term. Returns 0, or:
 *
 *  INV_EINVAL   a syntax error; err has the reason and the character position
 *  INV_ETOOBIG  h is full, or an integer is too large
 *  INV_EDEPTH   the term is nested too deeply
 */
int inv_tree_parse(struct inv_heap *h, const char *text, inv_word *t,
		   struct inv_err *err);

/*
 * A position in a text, for a caller whose text contains terms and other
 * syntax. The first error is stored in rc. After that nothing more is read.
 */
struct inv_text {
	struct inv_heap *h;
	const uint8_t *begin;
	const uint8_t *p;
	const uint8_t *end;
	struct inv_err *err;
	unsigned depth;
	int rc;
	/* Called for a variable in the text. Returns the term for which the
	 * variable stands, or 0 if the variable is not allowed at this place.
	 * NULL: variables are never allowed. */
	inv_word (*variable)(void *arg, struct inv_text *s, const char *name,
			     size_t len);
	void *arg;
};

void inv_text_init(struct inv_text *s, struct inv_heap *h, const char *text,
		   struct inv_err *err);
/* Skips spaces and comments. If `token' is next, reads it and returns true. */
bool inv_text_take(struct inv_text *s, const char *token);
/* Skips spaces and comments. Returns the next character without reading it, or
 * 0 at the end. */
uint8_t inv_text_peek(struct inv_text *s);
/* Reads the next term. On failure sets rc and returns 0. */
inv_word inv_text_term(struct inv_text *s);
/* Sets rc, and err to a message with the current position and `why'. Returns
 * 0. */
inv_word inv_text_fail(struct inv_text *s, const char *why);

#endif
