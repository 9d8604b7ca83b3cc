/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TREE_PRINT_H
#define INV_TERM_TREE_PRINT_H

#include "term/print.h"
#include "term/tree.h"

/*
 * Appends the text of t, as inv_term_print does. Parts that were not recorded
 * are printed as "...". Returns 0, INV_EDEPTH or INV_ENOMEM.
 */
int inv_tree_print(inv_word t, struct inv_buf *out,
		   const struct inv_print_opts *o);

#endif
