/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_UTF8_H
#define INV_LOG_UTF8_H

#include <stddef.h>

/*
 * Returns a copy of the n bytes at s that is safe to print on a terminal.
 * Invalid UTF-8, control characters and hidden characters (base/utf8.h) are
 * replaced by U+FFFD. The caller frees the string. Returns NULL if there is no
 * memory.
 */
char *inv_utf8_sanitized(const char *s, size_t n);

/* Does the same for the name of a node, but copies only its first 255
 * characters: an atom has at most 255. The head of a damaged log can have a
 * longer name. */
char *inv_utf8_node_name(const char *s, size_t n);

#endif
