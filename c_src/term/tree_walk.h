/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TREE_WALK_H
#define INV_TERM_TREE_WALK_H

#include "term/tree.h"

/*
 * Calls visit with each token of t, in the order in which a cursor returns them
 * (term/cursor.h). If visit returns a value other than 0, stops and returns
 * this value. Otherwise returns 0, INV_EDEPTH or INV_ENOMEM. These tokens
 * differ from those of a cursor:
 *
 *	STRING	stands for every proper list of integers 0..255
 *	LIST	count is always 0
 *	MAP	cut is not 0 if pairs were not recorded
 *	FUN	bytes2 and len2 are the fun in external format, if it is known
 *	HOLE	cut is always INV_CUT_OTHER
 */
int inv_tree_walk(inv_word t,
		  int (*visit)(void *arg, const struct inv_token *tok),
		  void *arg);

#endif
