/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_EXPLAIN_H
#define INV_MATCH_EXPLAIN_H

#include "match/parse.h"

/*
 * Appends an explanation of a match spec for people. `otp' is the OTP release
 * for which the spec was parsed. Guards and actions are shown as function
 * calls. Example:
 *
 *	clause 1: 2 arguments: $1, b
 *	  when    $1 > 1
 *	  and     is_atom($2)
 *	  does    message({$1, x})
 *	          return_trace()
 */
void inv_match_explain(const struct inv_spec *s, unsigned otp,
		       struct inv_buf *out);

#endif
