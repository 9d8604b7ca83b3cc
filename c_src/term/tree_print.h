/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TREE_PRINT_H
#define INV_TERM_TREE_PRINT_H

#include "term/print.h"
#include "term/tree.h"

/*
 * Appends t as inv_term_print would print it; what was not recorded is "...".
 * INV_EDEPTH, INV_ENOMEM.
 */
int inv_tree_print(inv_word t, struct inv_buf *out,
		   const struct inv_print_opts *o);

#endif
