/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_PRINT_INT_H
#define INV_TERM_PRINT_INT_H

#include "term/print.h"

/* Private to the files of the printer. */

/* Maximum number of bytes of a character in quotes, with io_lib's escapes:
 * \x{10FFFF} */
#define INV_ESCAPED_MAX 10

/* Writes ch at w, escaped for a text in quotes of this kind. Returns a pointer
 * to the byte after the character. */
uint8_t *inv__print_char(uint8_t *w, uint32_t ch, char quote, bool unicode);

/*
 * Returns the letter of ch's backslash escape that Erlang and Elixir share, or
 * 0 if ch has none.
 */
char inv__escape_letter(uint32_t ch);

/* Appends one token, after its separator if with_sep is true. Never prints a
 * LIST as a string. */
void inv__print_token(const struct inv_token *tok, bool with_sep,
		      struct inv_buf *out, const struct inv_print_opts *o);

/* inv__print_cut appends "...(N more)"; inv__print_hole adds the brackets of
 * the term's kind. */
void inv__print_cut(unsigned cut, uint64_t left, struct inv_buf *out);
void inv__print_hole(unsigned cut, uint64_t left, struct inv_buf *out);

void inv__print_binary_cut(uint64_t bits, struct inv_buf *out);
void inv__print_binary(const struct inv_token *tok, struct inv_buf *out,
		       const struct inv_print_opts *o);
void inv__print_string(const struct inv_token *tok, struct inv_buf *out,
		       const struct inv_print_opts *o);
void inv__print_big(const struct inv_token *tok, struct inv_buf *out);

/*
 * Puts the pairs of large maps in the VM's order. In the external format, the
 * pairs of a map of more than INV_SMALL_MAP keys are in the opposite of the
 * order in which the VM prints them (OTP 25 to 29). The printer prints them as
 * it reads them, and then reverses them. All zero: no large map is open.
 */
#define INV_SMALL_MAP 32

struct inv__order {
	uint32_t depth; /* depth of the cursor in the innermost large map; 0:
			  none is open */
	size_t base;
	struct inv_buf marks;
	struct inv_buf copy;
};

/* Call it after a large map was opened. depth: the cursor's depth inside it. */
void inv__order_open(struct inv__order *r, uint32_t depth);

/* Call it when the map's next pair begins, at offset `at' of the text. */
void inv__order_pair(struct inv__order *r, size_t at);

/* Call it after the map's last pair was printed: reverses the pairs in out. */
void inv__order_close(struct inv__order *r, struct inv_buf *out);

void inv__order_release(struct inv__order *r);

/*
 * Prints the term whose first token is given, with the names of fields of
 * records, and with the bound on nesting. Like inv_term_print_token.
 */
int inv__print_fields(struct inv_cursor *c, const struct inv_token *first,
		      struct inv_buf *out, const struct inv_print_opts *o);

/* The parts of inv_term_print_token that inv__print_fields shares: see print.c
 */
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

/* The parts of the printer for Elixir's syntax (print_elixir.c, elixir_text.c).
 */
#define INV_ELIXIR_PREFIX 7 /* Elixir. */

/*
 * If the struct of this module, whose map was just opened, is a range, a date
 * or a time, prints it as 1..9 or ~D[2026-11-25], reads its END, sets *inside
 * to the number of containers in it, and returns true. Otherwise nothing is
 * printed, and the cursor must be moved before it is used again.
 */
bool inv__elixir_sigil(struct inv_cursor *c, const uint8_t *module, size_t len,
		       uint32_t *inside, struct inv_buf *out);

int inv__print_elixir(struct inv_cursor *c, const struct inv_token *first,
		      struct inv_buf *out, const struct inv_print_opts *o);
void inv__elixir_atom(const uint8_t *p, size_t len, struct inv_buf *out);
bool inv__elixir_is_alias(const uint8_t *p, size_t len);
/* Returns true if the atom can be a key of a keyword list: [a: 1]. */
bool inv__elixir_is_key(const uint8_t *p, size_t len);
void inv__elixir_key(const uint8_t *p, size_t len, struct inv_buf *out);
void inv__elixir_function(const uint8_t *p, size_t len, struct inv_buf *out);
/* Returns true if a list of such numbers is a charlist. */
bool inv__elixir_is_char(int64_t ch);
/* Appends a character inside double quotes, which `next' follows. */
void inv__elixir_char(uint32_t ch, uint32_t next, struct inv_buf *out);
void inv__elixir_charlist(const struct inv_token *tok, struct inv_buf *out);
void inv__elixir_binary(const struct inv_token *tok, struct inv_buf *out);

/* Prints an atom as the VM does inside a fun; io_lib prints some atoms
 * differently. */
void inv__print_vm_atom(const uint8_t *name, size_t len, struct inv_buf *out);

/* Prints UTF-8 text unchanged, except bytes that are not UTF-8. */
void inv__print_text(const uint8_t *p, size_t len, struct inv_buf *out,
		     const struct inv_print_opts *o);

#endif
