/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_COMPILE_H
#define INV_MATCH_COMPILE_H

#include "match/parse.h"

/*
 * Compiles a spec that was parsed into heap, from which it takes what memory it
 * needs, and verifies the result.  The program refers to s and its terms.
 *
 * INV_ETOOBIG: the heap is full, or the spec needs more stack than there is.
 */
int inv_match_compile(struct inv_match_prog *prog, const struct inv_spec *s,
		      unsigned otp, struct inv_heap *heap, struct inv_err *err);

#endif
