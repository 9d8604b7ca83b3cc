/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_PRINT_INT_H
#define INV_TERM_PRINT_INT_H

#include "term/print.h"

/* For the files of the printer only. */

/* A character between quotes of that kind, escaped as io_lib does, takes at
 * most so many bytes: \x{10FFFF} */
#define INV_ESCAPED_MAX 10

/* Writes it at w; returns past it. */
uint8_t *inv__print_char(uint8_t *w, uint32_t ch, char quote, bool unicode);

/* "...(N more)" and its kin; in the brackets of its kind. */
void inv__print_cut(unsigned cut, uint64_t left, struct inv_buf *out);
void inv__print_hole(unsigned cut, uint64_t left, struct inv_buf *out);

void inv__print_binary(const struct inv_token *tok, struct inv_buf *out,
		       const struct inv_print_opts *o);
void inv__print_string(const struct inv_token *tok, struct inv_buf *out,
		       const struct inv_print_opts *o);
void inv__print_big(const struct inv_token *tok, struct inv_buf *out);

/*
 * Maps of more than so many keys lie in the external format in the opposite of
 * the order in which the VM prints them (all releases from 25 to 29).  They are
 * printed as they come, and their pairs then put in order.  All zero: no such
 * map is open.
 */
#define INV_SMALL_MAP 32

struct inv__order {
	uint32_t
		depth; /* of the cursor in the innermost one; 0: there is none */
	size_t base;
	struct inv_buf marks;
	struct inv_buf copy;
};

/* A large map was opened and is now the innermost container, at that depth. */
void inv__order_open(struct inv__order *r, uint32_t depth);

/* Its next pair begins at that offset of the text. */
void inv__order_pair(struct inv__order *r, size_t at);

/* All its pairs are in out: turns them round. */
void inv__order_close(struct inv__order *r, struct inv_buf *out);

void inv__order_release(struct inv__order *r);

/* As the VM itself prints an atom in a fun, which is not as io_lib does. */
void inv__print_vm_atom(const uint8_t *name, size_t len, struct inv_buf *out);

/* UTF-8 as it is, but for bytes that are none. */
void inv__print_text(const uint8_t *p, size_t len, struct inv_buf *out,
		     const struct inv_print_opts *o);

#endif
