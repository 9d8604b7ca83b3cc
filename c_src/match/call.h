/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_CALL_H
#define INV_MATCH_CALL_H

#include "term/tree.h"

/*
 * Parses the one-line form of a spec for calls:
 *
 *	lists:seq(A, B) when A > B, is_integer(B)
 *	shop:order({item, Id, _}, #{qty := N}) when N > 10; Id == 7
 *	lists:seq/2      lists:seq      lists
 *
 * The result is a match spec for the list [Pid, call, {M, F, Args}], the
 * elements of the documented trace tuple. Conditions are Erlang guards, limited
 * to what match specs support. Returns 0, or:
 *
 *	INV_EINVAL	a syntax error; err has the reason and the character
 *			position
 *	INV_ETOOBIG, INV_EDEPTH
 */
int inv_call_parse(struct inv_heap *h, const char *text, inv_word *spec,
		   struct inv_err *err);

#endif
