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

#endif
