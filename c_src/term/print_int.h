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

/* As the VM itself prints an atom in a fun, which is not as io_lib does. */
void inv__print_vm_atom(const uint8_t *name, size_t len, struct inv_buf *out);

/* UTF-8 as it is, but for bytes that are none. */
void inv__print_text(const uint8_t *p, size_t len, struct inv_buf *out);

#endif
