/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_CHARS_H
#define INV_TERM_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Characters as Erlang sees them, and UTF-8.
 */
enum inv_char_class {
	INV_CH_LOWER = 1,      /* a letter that can start an atom */
	INV_CH_NAME = 2,       /* can go on in one: letters, digits, _ @ */
	INV_CH_PRINT = 4,      /* io_lib:printable_latin1_list/1 */
	INV_CH_ASCII_NAME = 8, /* NAME, below 128 */
};

/* The classes of the characters 0..255. */
extern const uint8_t inv_char_classes[256];

#define INV_CHAR_BAD UINT32_MAX

/*
 * The character at p, which is before end; *n is its length.  INV_CHAR_BAD,
 * and 1, for what is no UTF-8: overlong forms, surrogates and what lies beyond
 * U+10FFFF are none.
 */
uint32_t inv_utf8_get(const uint8_t *p, const uint8_t *end, unsigned *n);

/* Writes c, not above U+10FFFF, at w, which has room for 4; returns past it. */
uint8_t *inv_utf8_put(uint8_t *w, uint32_t c);

/* Whether all of it is UTF-8. */
bool inv_utf8_valid(const uint8_t *p, size_t len);

/* Bytes at the end, 0 to 3, that begin a character but do not finish it. */
unsigned inv_utf8_partial(const uint8_t *p, size_t len);

/*
 * Whether erl_scan:reserved_word/1 says so; 2 for 'maybe' and 'else', which
 * are reserved from OTP 27 on.
 */
int inv_word_reserved(const uint8_t *p, size_t len);

/* Whether an atom of that name is printed without quotes by every release. */
bool inv_atom_is_plain(const uint8_t *p, size_t len);

/*
 * Whether a terminal shows nothing for c above 255 and may show what is around
 * it in another order or place: bidirectional controls, separators of lines and
 * paragraphs, what has no width, tags.  No output for people has them as they
 * are: terms have \x{202E} instead, texts a question mark or U+FFFD.
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

/* io_lib:printable_unicode_list/1 of one character. */
static inline bool inv_char_printable(uint32_t c, bool wide)
{
	if (c < 256)
		return inv_char_classes[c] & INV_CH_PRINT;
	return wide && (c < 0xd800 || (c > 0xdfff && c < 0xfffe) ||
			(c > 0xffff && c < 0x110000));
}

#endif
