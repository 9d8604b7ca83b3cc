/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_VALUES_H
#define INV_VM_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "vm/tally.h"

/*
 * Values of expressions that are keys of a tally (vm/tally.h). Such a value is
 * a term that does not outlive its event. So the value's bytes are stored here,
 * with the index of the tally's cell, and the key in the cell has two hashes of
 * these bytes. nif/value_key.h defines the bytes.
 *
 * As in the tally, each thread has a part, and is the only writer of it. The
 * bytes are written before the cell's first count, and never change afterwards.
 */
#define INV_VALUE_BYTES 95u

struct inv_value {
	uint8_t len;
	uint8_t bytes[INV_VALUE_BYTES];
};

struct inv_value_part {
	struct inv_value now; /* the value of the thread's current event */
	struct inv_value *cells;
};

struct inv_values {
	size_t bytes;
	uint32_t n_parts;
	struct inv_value_part parts[];
};

/* Returns NULL if there is no memory. A page takes memory when it is first
 * used. */
struct inv_values *inv_values_make(uint32_t n_parts);
void inv_values_free(struct inv_values *v);

/* Copies the value of the thread's current event to the new cell c. Only the
 * part's thread may call it, before it counts the event. */
void inv_values_keep(struct inv_values *v, uint32_t part,
		     const struct inv_tally_part *keys,
		     const struct inv_tally_cell *c);

/* Returns the value of a key, or NULL if no part has counted the key. Only the
 * reader may call it. */
const struct inv_value *inv_values_of(const struct inv_values *v,
				      const struct inv_tally *keys,
				      const struct inv_tally_key *k);

#endif
