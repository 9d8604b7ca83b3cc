/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_UTF8_H
#define INV_LOG_UTF8_H

#include <stddef.h>

/*
 * A new string of the n bytes at s, in which what is no UTF-8, control
 * characters and hidden ones (term/chars.h) are replaced by U+FFFD: names from
 * files go to terminals.  The caller frees it; NULL without memory.
 */
char *inv_utf8_sanitized(const char *s, size_t n);

#endif
