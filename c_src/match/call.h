/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_CALL_H
#define INV_MATCH_CALL_H

#include "term/tree.h"

/*
 * The one-line form of a spec for calls, as people write it:
 *
 *	lists:seq(A, B) when A > B, is_integer(B)
 *	shop:order({item, Id, _}, #{qty := N}) when N > 10; Id == 7
 *	lists:seq/2      lists:seq      lists
 *
 * It becomes a match spec over [Pid, call, {M, F, Args}], the elements of the
 * documented trace tuple.  Conditions are guards as in Erlang, of what match
 * specs have.
 *
 *	INV_EINVAL   it is none; err says why, and at which character
 *	INV_ETOOBIG, INV_EDEPTH
 */
int inv_call_parse(struct inv_heap *h, const char *text, inv_word *spec,
		   struct inv_err *err);

#endif
