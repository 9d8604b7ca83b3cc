/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_SCALAR_H
#define INV_NIF_SCALAR_H

#include "abi/term.h"
#include "nif/encode.h"

/*
 * Writes integers, floats, binaries and bitstrings. The parameters and results
 * are those of inv_encode_term.
 */
bool inv_scalar_integer(struct inv_encoder *e, ERL_NIF_TERM term);
bool inv_scalar_float(struct inv_encoder *e, ERL_NIF_TERM term);

/* Writes a binary. If it is longer than the remaining budget, writes only its
 * first bytes. */
bool inv_scalar_binary(struct inv_encoder *e, const uint8_t *data, size_t size);

/*
 * Returns an upper bound of a big integer's size in bytes: the smallest of a
 * few fixed sizes that the integer does not exceed. Returns 0 if the integer
 * exceeds all of them.
 */
uint32_t inv_scalar_big_bytes(ERL_NIF_TERM term);

/* Writes a bitstring whose number of bits is not a multiple of 8. */
bool inv_scalar_bits(struct inv_encoder *e, ERL_NIF_TERM term) INV_COLD;

/* Writes a HOLE or a CUT (`code') with its kind and the number n, whose meaning
 * depends on the kind (abi/term.h). */
bool inv_scalar_missing(struct inv_encoder *e, enum inv_term_code code,
			enum inv_cut kind, uint64_t n) INV_COLD;

/* inv_scalar_init makes the constants with which inv_scalar_big_bytes compares,
 * and inv_scalar_end frees them. */
void inv_scalar_init(void);
void inv_scalar_end(void);

#endif
