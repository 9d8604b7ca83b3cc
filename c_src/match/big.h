/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_BIG_H
#define INV_MATCH_BIG_H

#include "match/table.h"
#include "match/value.h"

/*
 * Exact arithmetic on integers of any size, for match specs that run outside of
 * a VM. It uses GMP, which allocates memory; if there is no memory, GMP ends
 * the process.
 *
 * inv_big_arith computes one of the operations + - * div rem band bor bxor bsl.
 * bsl by a negative number shifts to the right.  `a' and `b' are integers, of
 * kind INT or TERM.  The result is allocated in `h'.  The divisor must not be
 * 0. Returns INV_ETOOBIG if the result has more than INV_TREE_BIG_MAX bytes, or
 * does not fit in `h'.
 */
int inv_big_arith(enum inv_match_fn fn, const struct inv_val *a,
		  const struct inv_val *b, struct inv_heap *h,
		  struct inv_val *out);

/*
 * Converts a big integer to a float. If `nearest' is true, the result is the
 * nearest float. Otherwise the integer is converted limb by limb with rounding
 * errors, as in VMs before OTP 29. Returns INV_EXCEPTION if the integer is too
 * large for a float.
 */
int inv_big_to_float(const inv_word *big, bool nearest, double *f);

#endif
