/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_UTF8_H
#define INV_LOG_UTF8_H

#include <stddef.h>

/*
 * Returns a new string with the n bytes at s for display. Invalid UTF-8,
 * control characters and hidden characters (base/utf8.h) are replaced by
 * U+FFFD, because names from files are printed on terminals. The caller frees
 * the string. Returns NULL if there is no memory.
 */
char *inv_utf8_sanitized(const char *s, size_t n);

#endif
