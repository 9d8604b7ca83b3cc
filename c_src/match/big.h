/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_BIG_H
#define INV_MATCH_BIG_H

#include "match/table.h"
#include "match/value.h"

/*
 * Exact arithmetic on integers of any size, for programs outside of a VM: made
 * with GMP, which allocates, and ends the process when it cannot.
 *
 * + - * div rem band bor bxor bsl (which shifts to the right by less than 0),
 * of integers that are INT or TERM, into h.  No division by 0.  INV_ETOOBIG:
 * the result has more than INV_TREE_BIG_MAX bytes, or does not fit in h.
 */
int inv_big_arith(enum inv_match_fn fn, const struct inv_val *a,
		  const struct inv_val *b, struct inv_heap *h,
		  struct inv_val *out);

/*
 * The float that a big integer is turned into; INV_EXCEPTION when there is
 * none.  The nearest one, or as VMs before OTP 29 have it, digit by digit.
 */
int inv_big_to_float(const inv_word *big, bool nearest, double *f);

#endif
