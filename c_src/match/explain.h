/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_EXPLAIN_H
#define INV_MATCH_EXPLAIN_H

#include "match/parse.h"

/*
 * Appends what a spec says, clause by clause, in the notation of functions:
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
