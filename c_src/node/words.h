/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_WORDS_H
#define INV_NODE_WORDS_H

#include <stddef.h>

/*
 * Prints a term of the external format into out for a message, as ~0tp, cut to
 * size.  Not for hot paths: it allocates.
 */
void inv_term_words(char *out, size_t size, const char *term, size_t len);

#endif
