/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TREE_TEXT_H
#define INV_TERM_TREE_TEXT_H

#include "term/tree.h"

/*
 * Terms from text, as Erlang writes them and prints them: integers (also 16#ff,
 * 1_000 and $a), floats, atoms, strings, tuples, lists, maps, binaries of
 * integers, sizes and strings, pids <0.1.2>, #Port<0.5>, #Ref<0.1.2.3> and
 * fun m:f/1.  A '_' may be left unquoted.  Comments are passed over.
 *
 * What is read lies in h; nothing refers to the text afterwards.
 */

/*
 * The one term that text is, with or without a full stop.
 *
 *	INV_EINVAL   it is none; err says why, and at which character
 *	INV_ETOOBIG  h is full, or an integer is too big
 *	INV_EDEPTH   nested too deeply
 */
int inv_tree_parse(struct inv_heap *h, const char *text, inv_word *t,
		   struct inv_err *err);

/*
 * For text that has terms in it: where one is in the text.  The first failure
 * sticks in rc, and takes the rest of the text with it.
 */
struct inv_text {
	struct inv_heap *h;
	const uint8_t *begin;
	const uint8_t *p;
	const uint8_t *end;
	struct inv_err *err;
	unsigned depth;
	int rc;
	/* What a variable in a term stands for; 0: not here.  NULL: nothing. */
	inv_word (*variable)(void *arg, struct inv_text *s, const char *name,
			     size_t len);
	void *arg;
};

void inv_text_init(struct inv_text *s, struct inv_heap *h, const char *text,
		   struct inv_err *err);
/* Takes the token if it is next, after space and comments. */
bool inv_text_take(struct inv_text *s, const char *token);
/* The next character, after space and comments; 0 at the end. */
uint8_t inv_text_peek(struct inv_text *s);
/* The next term; 0 when there is none. */
inv_word inv_text_term(struct inv_text *s);
/* Sets rc and err, here; returns 0. */
inv_word inv_text_fail(struct inv_text *s, const char *why);

#endif
