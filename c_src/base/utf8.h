/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_UTF8_H
#define INV_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define INV_CHAR_BAD UINT32_MAX

/*
 * Returns the character at p, which is before end, and sets *n to its length.
 * If the bytes are not UTF-8, it returns INV_CHAR_BAD and sets *n to 1.
 * Overlong forms, surrogates and characters above U+10FFFF are not UTF-8.
 */
uint32_t inv_utf8_get(const uint8_t *p, const uint8_t *end, unsigned *n);

/* Writes c, at most U+10FFFF, at w, which has space for 4 bytes. Returns a
 * pointer to the byte after the character. */
uint8_t *inv_utf8_put(uint8_t *w, uint32_t c);

/* Returns true if all len bytes are UTF-8. */
bool inv_utf8_valid(const uint8_t *p, size_t len);

/* Appends the bytes; each byte that is not UTF-8 becomes U+FFFD. */
void inv_utf8_repair(const uint8_t *p, size_t len, struct inv_buf *out);

/* Returns how many bytes at the end, 0 to 3, are the start of an incomplete
 * character. */
unsigned inv_utf8_partial(const uint8_t *p, size_t len);

/*
 * Returns true if a terminal shows nothing for c but may change the order or
 * place of the text around it: bidirectional controls, separators of lines and
 * paragraphs, characters without width, tags. False for all c below 256.
 *
 * Output for people never contains such characters: in a term an escape such as
 * \x{202E} replaces them, in other text a question mark or U+FFFD.
 */
static inline bool inv_char_hidden(uint32_t c)
{
	if (c < 0x61c)
		return false;
	return c == 0x61c || c == 0x180e || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
	       c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

#endif
