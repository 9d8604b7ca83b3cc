/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TREE_TEXT_H
#define INV_TERM_TREE_TEXT_H

#include "term/tree.h"

/*
 * Reads terms from text in Erlang's syntax, or as Erlang prints them: integers
 * (also 16#ff, 1_000 and $a), floats, atoms, strings, tuples, lists, maps,
 * binaries of integers, sizes and strings, pids <0.1.2>, #Port<0.5>,
 * #Ref<0.1.2.3> and fun m:f/1. '_' may be written without quotes. Comments are
 * skipped.
 *
 * Terms are stored in h and do not refer to the text.
 */

/*
 * Reads the one term in text, with or without a full stop at the end.
 *
 *  INV_EINVAL   a syntax error; err has the reason and the character position
 *  INV_ETOOBIG  h is full, or an integer is too large
 *  INV_EDEPTH   nested too deeply
 */
int inv_tree_parse(struct inv_heap *h, const char *text, inv_word *t,
		   struct inv_err *err);

/*
 * A position in a text, for callers whose text has other syntax around terms.
 * After the first error, which is stored in rc, nothing more is read.
 */
struct inv_text {
	struct inv_heap *h;
	const uint8_t *begin;
	const uint8_t *p;
	const uint8_t *end;
	struct inv_err *err;
	unsigned depth;
	int rc;
	/* Returns the term for a variable, or 0 if a variable is not allowed at
	 * this place. If the function is NULL, variables are never allowed. */
	inv_word (*variable)(void *arg, struct inv_text *s, const char *name,
			     size_t len);
	void *arg;
};

void inv_text_init(struct inv_text *s, struct inv_heap *h, const char *text,
		   struct inv_err *err);
/* Skips spaces and comments. If `token' is next, reads it and returns true. */
bool inv_text_take(struct inv_text *s, const char *token);
/* Skips spaces and comments. Returns the next character, or 0 at the end. */
uint8_t inv_text_peek(struct inv_text *s);
/* Reads the next term. Returns 0 after a failure; then rc is set. */
inv_word inv_text_term(struct inv_text *s);
/* Sets rc and err, with the current position. Returns 0. */
inv_word inv_text_fail(struct inv_text *s, const char *why);

#endif
