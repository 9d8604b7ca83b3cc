/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_PRINT_INT_H
#define INV_TERM_PRINT_INT_H

#include "term/print.h"

/* Private to the files of the printer. */

/* The most bytes that io_lib writes for a character in quotes: \x{10FFFF} */
#define INV_ESCAPED_MAX 10

/* Writes the character ch of a text in quotes at w, as an escape sequence if
 * necessary. `quote' is the quote around the text. Returns a pointer to the
 * byte after the character. */
uint8_t *inv__print_char(uint8_t *w, uint32_t ch, char quote, bool unicode);

/*
 * Returns the letter of the escape sequence that both Erlang and Elixir use for
 * ch (n for a newline), or 0 if ch has no such escape sequence.
 */
char inv__escape_letter(uint32_t ch);

/* Appends one token; if with_sep is true, appends its separator first. Never
 * prints a LIST as a string. */
void inv__print_token(const struct inv_token *tok, bool with_sep,
		      struct inv_buf *out, const struct inv_print_opts *o);

/* inv__print_cut appends "...(N more)" for the missing end of a term. If the
 * whole term is missing, inv__print_hole appends the same text inside the
 * brackets of the term's type, for example {...(N more)}. */
void inv__print_cut(unsigned cut, uint64_t left, struct inv_buf *out);
void inv__print_hole(unsigned cut, uint64_t left, struct inv_buf *out);

void inv__print_binary_cut(uint64_t bits, struct inv_buf *out);
void inv__print_binary(const struct inv_token *tok, struct inv_buf *out,
		       const struct inv_print_opts *o);
void inv__print_string(const struct inv_token *tok, struct inv_buf *out,
		       const struct inv_print_opts *o);
void inv__print_big(const struct inv_token *tok, struct inv_buf *out);

/*
 * State for printing the pairs of large maps in the VM's order. If a map has
 * more than INV_SMALL_MAP keys, the VM prints its pairs in the reverse order of
 * the external format (OTP 25 to 29). The printer prints the pairs in the order
 * in which it reads them. At the end of the map it rewrites the map's text with
 * the pairs in reverse order. A struct of zeros: no large map is open.
 */
#define INV_SMALL_MAP 32

struct inv__order {
	uint32_t depth; /* depth of the cursor inside the innermost large map;
			  0: no large map is open */
	size_t base;	/* index of the first pair of this map in `marks' */
	struct inv_buf marks; /* see print_order.c */
	struct inv_buf copy;  /* memory for the text of one map */
};

/* Call it after a large map was opened. `depth' is the cursor's depth inside
 * the map. */
void inv__order_open(struct inv__order *r, uint32_t depth);

/* Call it when a pair of the innermost large map begins, at offset `at' of the
 * text. */
void inv__order_pair(struct inv__order *r, size_t at);

/* Call it after the last pair of the innermost large map was printed. Reverses
 * the order of the map's pairs in out. */
void inv__order_close(struct inv__order *r, struct inv_buf *out);

void inv__order_release(struct inv__order *r);

/*
 * Like inv_term_print_token, but also prints records with the names of their
 * fields, and limits the nesting (o->fields, o->depth).
 */
int inv__print_fields(struct inv_cursor *c, const struct inv_token *first,
		      struct inv_buf *out, const struct inv_print_opts *o);

/* Parts of inv_term_print_token (print.c) that inv__print_fields uses, too. */
bool inv__print_list_is_string(struct inv_cursor *c,
			       const struct inv_print_opts *o);
int inv__print_list_string(struct inv_cursor *c, struct inv_buf *out);
void inv__print_sep(const struct inv_token *tok, struct inv_buf *out);
void inv__print_keep_order(struct inv__order *order, const struct inv_cursor *c,
			   const struct inv_token *tok, struct inv_buf *out);

static inline bool inv__print_is_open(const struct inv_token *tok)
{
	return tok->kind >= INV_TOK_TUPLE && tok->kind <= INV_TOK_MAP;
}

/* The printer for Elixir's syntax (print_elixir.c, elixir_sigil.c,
 * elixir_text.c). */
#define INV_ELIXIR_PREFIX 7 /* length of "Elixir." */

/*
 * Call it when the map of a struct was opened. `module' is the struct's module.
 * If the struct is a range, a date or a time, prints it as 1..9 or
 * ~D[2026-11-25], and reads its END. Then sets *inside to the number of
 * containers in the struct, and returns true. Otherwise prints nothing and
 * returns false; the cursor may then have moved, so the caller must set it
 * back.
 */
bool inv__elixir_sigil(struct inv_cursor *c, const uint8_t *module, size_t len,
		       uint32_t *inside, struct inv_buf *out);

int inv__print_elixir(struct inv_cursor *c, const struct inv_token *first,
		      struct inv_buf *out, const struct inv_print_opts *o);
void inv__elixir_atom(const uint8_t *p, size_t len, struct inv_buf *out);
bool inv__elixir_is_alias(const uint8_t *p, size_t len);
/* Returns true if the atom can be written as a key of a keyword list, as in
 * [a: 1]. */
bool inv__elixir_is_key(const uint8_t *p, size_t len);
void inv__elixir_key(const uint8_t *p, size_t len, struct inv_buf *out);
void inv__elixir_function(const uint8_t *p, size_t len, struct inv_buf *out);
/* Returns true if ch can be an element of a charlist. */
bool inv__elixir_is_char(int64_t ch);
/* Appends the character ch of a text in double quotes. `next' is the character
 * after it. */
void inv__elixir_char(uint32_t ch, uint32_t next, struct inv_buf *out);
void inv__elixir_charlist(const struct inv_token *tok, struct inv_buf *out);
void inv__elixir_binary(const struct inv_token *tok, struct inv_buf *out);

/* Prints an atom as the VM itself prints it, for example in the text of a fun.
 * io_lib prints some atoms differently. */
void inv__print_vm_atom(const uint8_t *name, size_t len, struct inv_buf *out);

/* Prints a text that the VM has made, for example its text for a fun. An empty
 * text is printed as "...". Bytes that are not UTF-8 become U+FFFD. If
 * o->unicode is true, characters that a terminal could interpret are escaped;
 * otherwise they are unchanged. */
void inv__print_text(const uint8_t *p, size_t len, struct inv_buf *out,
		     const struct inv_print_opts *o);

#endif
