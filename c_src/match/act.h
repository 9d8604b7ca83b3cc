/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_ACT_H
#define INV_MATCH_ACT_H

#include "match/run.h"

/*
 * Computes the result of an action of a match spec that runs outside of a VM.
 * The action has no effect. If r->world->idle is true (match/run.h), the result
 * is the same as in erlang:match_spec_test/3. Otherwise it can depend on
 * unknown facts. The n arguments are top[0], top[-1], ...
 *
 * Returns 0; INV_EXCEPTION if the result in the VM is 'EXIT'; or INV_EUNKNOWN
 * if the result is unknown.
 */
int inv_tree_act(struct inv_match_run *r, enum inv_match_act act,
		 const struct inv_val *top, uint32_t n, struct inv_val *out);

/* Returns a predefined atom as a term in memory (term/tree.h). */
inv_word inv_tree_atom(enum inv_match_atom a);

/* Returns a HOLE, which stands for an unknown term. `cut' is of enum
 * inv_cut. */
inv_word inv_tree_unknown(unsigned cut);

#endif
