/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_CHARS_H
#define INV_TERM_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Classes of characters, as in Erlang's scanner and printer. A character can be
 * in several classes. */
enum inv_char_class {
	INV_CH_LOWER = 1,      /* a letter that can start an unquoted atom */
	INV_CH_NAME = 2,       /* can be in an unquoted atom after its first
				  character: letters, digits, _ @ */
	INV_CH_PRINT = 4,      /* printable, as in
				  io_lib:printable_latin1_list/1 */
	INV_CH_ASCII_NAME = 8, /* in INV_CH_NAME, and below 128 */
};

/* The classes of the characters 0..255. */
extern const uint8_t inv_char_classes[256];

/*
 * Returns 1 for a word that erl_scan:reserved_word/1 reserves in all releases,
 * 2 for a word that is reserved from OTP 27 on ('maybe' and 'else'), and 0 for
 * any other word.
 */
int inv_word_reserved(const uint8_t *p, size_t len);

/* Returns true if every release prints this atom without quotes. */
bool inv_atom_is_plain(const uint8_t *p, size_t len);

/* Returns true if c is printable, as io_lib:printable_unicode_list/1 (wide) or
 * io_lib:printable_latin1_list/1 (not wide) defines it. */
static inline bool inv_char_printable(uint32_t c, bool wide)
{
	if (c < 256)
		return inv_char_classes[c] & INV_CH_PRINT;
	return wide && (c < 0xd800 || (c > 0xdfff && c < 0xfffe) ||
			(c > 0xffff && c < 0x110000));
}

#endif
