/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_ACT_H
#define INV_MATCH_ACT_H

#include "match/run.h"

/*
 * Computes the result of an action outside of a VM, where the action has no
 * effect. If r->world->idle is true (run.h), the result is that of
 * erlang:match_spec_test/3; otherwise it is unknown. The n arguments are
 * top[0], top[-1], ...
 *
 * Returns 0, INV_EXCEPTION if the result in the VM is 'EXIT', or INV_EUNKNOWN.
 */
int inv_tree_act(struct inv_match_run *r, enum inv_match_act act,
		 const struct inv_val *top, uint32_t n, struct inv_val *out);

/* Returns the word of a predefined atom. */
inv_word inv_tree_atom(enum inv_match_atom a);

/* Returns the word of an unknown term; `cut' is its kind, an enum inv_cut. */
inv_word inv_tree_unknown(unsigned cut);

#endif
