/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_TERM_TREE_NUMBER_H
#define INV_TERM_TREE_NUMBER_H

#include <string.h>

#include "term/tree.h"

/* The kind and the value of a number in a tree. */
enum inv_number_kind {
	INV_NUMBER_NONE = 0, /* the term is not a number, or was not recorded */
	INV_NUMBER_INT,
	INV_NUMBER_BIG,
	INV_NUMBER_FLOAT,
};

struct inv_number {
	enum inv_number_kind kind;
	union {
		int64_t i;
		double f;
		const inv_word *big;
	};
};

static inline struct inv_number inv_number(inv_word t)
{
	struct inv_number n = { .kind = INV_NUMBER_NONE };

	if (inv_word_i64(t, &n.i)) {
		n.kind = INV_NUMBER_INT;
	} else if (inv_box_of(t, INV_BOX_BIG)) {
		n.kind = INV_NUMBER_BIG;
		n.big = inv_box(t);
	} else if (inv_box_of(t, INV_BOX_FLOAT)) {
		n.kind = INV_NUMBER_FLOAT;
		memcpy(&n.f, inv_box(t) + 1, sizeof(n.f));
	}
	return n;
}

/* Enough limbs for every float: the largest float has 16 limbs, and
 * inv_float_limbs returns at most 17. */
#define INV_FLOAT_LIMBS 18

/* Stores the magnitude of the float f, which must have no fraction, as limbs of
 * 64 bits. Returns the number of limbs. The highest limb may be 0. */
size_t inv_float_limbs(double f, uint64_t limbs[INV_FLOAT_LIMBS]);

/* These functions compare two numbers by value. They return a negative number,
 * 0 or a positive number. `how' has flags of enum inv_cmp. */
int inv_cmp_int_float(int64_t i, double f);
int inv_cmp_floats(double a, double b, unsigned how);

#endif
