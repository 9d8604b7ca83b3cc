/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_SCALAR_H
#define INV_NIF_SCALAR_H

#include "abi/term.h"
#include "nif/encode.h"

/*
 * Writes terms that are neither containers nor names. Parameters and results as
 * for inv_encode_term.
 */
bool inv_scalar_integer(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_scalar_float(struct inv_encoder *e, ERL_NIF_TERM term);

/* Writes a binary of any length, and cuts it to the remaining budget. */
bool inv_scalar_binary(struct inv_encoder *e, const uint8_t *data, size_t size);

/*
 * Returns an upper bound of a big integer's size in bytes. The bound is the
 * smallest of a few fixed limits that the integer does not exceed, or 0 if it
 * exceeds all of them.
 */
uint32_t inv_scalar_big_bytes(ERL_NIF_TERM term);

/* Writes a bitstring that does not end on a byte. */
bool inv_scalar_bits(struct inv_encoder *e, ERL_NIF_TERM term) INV_COLD;

/* Writes a HOLE or a CUT (`code') with its kind and its number n. */
bool inv_scalar_missing(struct inv_encoder *e, enum inv_term_code code,
			enum inv_cut kind, uint64_t n) INV_COLD;

/* Makes the constants for comparing big integers. */
void inv_scalar_init(void);
void inv_scalar_end(void);

#endif
