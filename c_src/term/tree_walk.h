/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TREE_WALK_H
#define INV_TERM_TREE_WALK_H

#include "term/tree.h"

/*
 * Calls visit with each token of t (term/cursor.h), in the order of a cursor.
 * Stops if visit returns a value other than 0, and returns that value. Other
 * errors: INV_EDEPTH, INV_ENOMEM. Some tokens differ from those of a cursor:
 *
 *	STRING	any proper list of integers 0..255
 *	LIST	count is 0
 *	MAP	cut is not 0 if pairs were not recorded
 *	FUN	bytes2 and len2: the fun in external format, if known
 *	HOLE	cut is INV_CUT_OTHER
 */
int inv_tree_walk(inv_word t,
		  int (*visit)(void *arg, const struct inv_token *tok),
		  void *arg);

#endif
