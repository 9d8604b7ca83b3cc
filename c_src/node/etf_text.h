/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_ETF_TEXT_H
#define INV_NODE_ETF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Prints a term of the external format for a message: like ~0tp of io_lib, cut
 * to `size' bytes. This is slow, because it allocates memory.
 */
void inv_etf_text(char *out, size_t size, const char *term, size_t len);

/*
 * Copies UTF-8 text from another machine so that it can be shown, cut to size -
 * 1 bytes. Replaces invalid bytes and control characters, which could control a
 * terminal, by '?'. Returns false if the text was cut.
 */
bool inv_plain_text(char *out, size_t size, const void *text, size_t len);
/* Like inv_plain_text, but a text that was cut ends with "...". */
void inv_plain_cut(char *out, size_t size, const void *text, size_t len);
/*
 * Stores the character `c' at out[*at] and advances `*at'.  Returns false if
 * `c' and a NUL do not fit.
 */
bool inv_plain_char(char *out, size_t size, size_t *at, uint32_t c);

#endif
