/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TEXT_INT_H
#define INV_TERM_TEXT_INT_H

#include "term/tree_text.h"

/*
 * Private to the files that read terms from text. text_scan.c reads characters
 * and reports errors; text_atom.c, text_number.c and text_binary.c read single
 * tokens; tree_text.c reads terms. All functions read from s->p on, and move
 * s->p after what they have read.
 *
 * If a function that returns a term fails, it sets s->rc and returns 0.
 */

/* Sets s->rc to INV_EINVAL, and the message, which gives the position of `at'.
 * Returns 0. */
__attribute__((format(printf, 3, 4))) inv_word inv__text_fail_at(
	struct inv_text *s, const uint8_t *at, const char *fmt, ...);
inv_word inv__text_too_big(struct inv_text *s);
/* t is the result of an inv_make_ function. If it is 0, reports that the heap
 * is full. Returns t. */
inv_word inv__text_made(struct inv_text *s, inv_word t);

/* Skips spaces and comments. */
void inv__text_skip(struct inv_text *s);
/* Returns true if `text' starts at s->p. Skips nothing. */
bool inv__text_at(const struct inv_text *s, const char *text);
/* Reads the token `text' and returns true. If another token is next, reports
 * that `text' was expected in `where', and returns false. */
bool inv__text_need(struct inv_text *s, const char *text, const char *where);

static inline bool inv__text_is_digit(unsigned c)
{
	return c >= '0' && c <= '9';
}
/* Returns the value of the digit c in bases up to 36, or 255 if c is no
 * digit. */
unsigned inv__text_digit(unsigned c);
/*
 * Reads a character inside quotes or after $, which may be an escape sequence.
 * Sets s->rc if the text ends, is not UTF-8, or has an invalid escape sequence.
 */
uint32_t inv__text_char(struct inv_text *s);

/*
 * Reads an unquoted name. Returns its length in bytes, or 0 if no name is next.
 */
size_t inv__text_name(struct inv_text *s);
/* Returns the term for which an unquoted name stands: an atom, or the result of
 * s->variable. */
inv_word inv__text_word(struct inv_text *s, const uint8_t *name, size_t len);
/* Reads an atom, quoted or not. */
inv_word inv__text_atom(struct inv_text *s);

/* Reads an unsigned number. If negative is true, returns the negated number. */
inv_word inv__text_number(struct inv_text *s, bool negative);
/* Reads a number or a character, possibly with a sign. */
inv_word inv__text_signed(struct inv_text *s);
/* Reads digits into *v. Returns false if the number needs more than 64 bits. If
 * there are no digits, sets s->rc and returns false. */
bool inv__text_u64(struct inv_text *s, uint64_t *v);

/* Reads a string, whose quote is next. Returns a list of characters. */
inv_word inv__text_string(struct inv_text *s);
/* Reads a binary, whose "<<" is next. */
inv_word inv__text_binary(struct inv_text *s);

#endif
