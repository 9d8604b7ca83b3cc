/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_ACT_H
#define INV_MATCH_ACT_H

#include "match/run.h"

/*
 * What an action answers outside of a VM, where it has no effect: what
 * erlang:match_spec_test/3 answers if the world is idle, and otherwise that it
 * is not known.  The n arguments are top[0], top[-1], ...
 *
 * 0; INV_EXCEPTION where the VM's answer is 'EXIT'; INV_EUNKNOWN.
 */
int inv_tree_act(struct inv_match_run *r, enum inv_match_act act,
		 const struct inv_val *top, uint32_t n, struct inv_val *out);

/* The words of atoms that programs know. */
inv_word inv_tree_atom(enum inv_match_atom a);

/* The word of something that is not known, of that kind (enum inv_cut). */
inv_word inv_tree_unknown(unsigned cut);

#endif
