/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TEXT_INT_H
#define INV_TERM_TEXT_INT_H

#include "term/tree_text.h"

/*
 * For the files that read terms from text only: text_scan.c has the characters
 * and the failures; text_atom.c, text_number.c and text_binary.c what is made
 * of characters alone, from the place s->p on; tree_text.c the terms.
 *
 * Whatever returns a term returns 0 when s->rc was set.
 */

/* At that place; returns 0. */
__attribute__((format(printf, 3, 4))) inv_word inv__text_fail_at(
	struct inv_text *s, const uint8_t *at, const char *fmt, ...);
inv_word inv__text_too_big(struct inv_text *s);
/* What a maker made, or the heap was full. */
inv_word inv__text_made(struct inv_text *s, inv_word t);

/* Passes over space and comments. */
void inv__text_skip(struct inv_text *s);
/* Whether that is next, with nothing passed over. */
bool inv__text_at(const struct inv_text *s, const char *text);
/* Takes the token; fails with what was wanted, and where, if it is not next. */
bool inv__text_need(struct inv_text *s, const char *text, const char *where);

static inline bool inv__text_is_digit(unsigned c)
{
	return c >= '0' && c <= '9';
}
/* The value of a digit in bases up to 36; 255: it is none. */
unsigned inv__text_digit(unsigned c);
/* A character between quotes, or after $; s->rc tells whether there was one. */
uint32_t inv__text_char(struct inv_text *s);

/* Takes a name without quotes; how many bytes, 0: there is none. */
size_t inv__text_name(struct inv_text *s);
/* What the name means where a term is: an atom, or a variable. */
inv_word inv__text_word(struct inv_text *s, const uint8_t *name, size_t len);
/* An atom, with quotes or without. */
inv_word inv__text_atom(struct inv_text *s);

/* The number that begins with a digit here. */
inv_word inv__text_number(struct inv_text *s, bool negative);
/* A number or character, perhaps with a sign. */
inv_word inv__text_signed(struct inv_text *s);
/* Digits; false: s->rc is set, or they need more than 64 bits. */
bool inv__text_u64(struct inv_text *s, uint64_t *v);

/* From its quote on: a list of characters. */
inv_word inv__text_string(struct inv_text *s);
/* From "<<" on. */
inv_word inv__text_binary(struct inv_text *s);

#endif
