/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_SCALAR_H
#define INV_NIF_SCALAR_H

#include "abi/term.h"
#include "nif/encode.h"

/*
 * The terms that are neither containers nor names, in the forms that are not
 * worth the walk's own while.  As inv_encode_term in all else.
 */
bool inv_scalar_integer(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_scalar_float(struct inv_encoder *e, ERL_NIF_TERM term);

/* Any binary, cut to the budget that is left. */
bool inv_scalar_binary(struct inv_encoder *e, const uint8_t *data, size_t size);

/*
 * A bound on a big integer's bytes: the smallest of some limits that it is
 * below; 0: beyond all of them.
 */
uint32_t inv_scalar_big_bytes(ERL_NIF_TERM term);

/* A bitstring that does not end on a byte. */
bool inv_scalar_bits(struct inv_encoder *e, ERL_NIF_TERM term) INV_COLD;

/* Says what is missing: code is HOLE or CUT. */
bool inv_scalar_missing(struct inv_encoder *e, enum inv_term_code code,
			enum inv_cut kind, uint64_t n) INV_COLD;

/* The constants that big integers are compared with. */
void inv_scalar_init(void);
void inv_scalar_end(void);

#endif
