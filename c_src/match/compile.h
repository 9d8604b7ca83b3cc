/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_COMPILE_H
#define INV_MATCH_COMPILE_H

#include "match/parse.h"

/*
 * Compiles the parsed match spec `s' and verifies the program. Takes memory
 * from `heap'. The program borrows `s' and the terms of `s'. `otp' is the OTP
 * release whose behaviour the program has; 0 means the oldest supported
 * release. Returns INV_ETOOBIG if the heap is full or the spec needs too much
 * stack.
 */
int inv_match_compile(struct inv_match_prog *prog, const struct inv_spec *s,
		      unsigned otp, struct inv_heap *heap, struct inv_err *err);

#endif
