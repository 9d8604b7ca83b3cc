/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_RUN_H
#define INV_MATCH_RUN_H

#include "match/program.h"
#include "match/value.h"

/*
 * Runs a program over trees (term/tree.h), outside of a VM.
 *
 * Nothing is allocated.  Results that are built lie in `heap`, which whoever
 * runs programs empties between runs; its size is a bound on what a run can
 * build, `steps` on how many elements it looks at.
 */
struct inv_match_world {
	inv_word self; /* a pid, 0: not known */
	inv_word node; /* an atom; 0: not known */
	/*
	 * As in erlang:match_spec_test/3: a process that nobody traces and that
	 * has no sequential trace token, called from nowhere.  Otherwise all
	 * that is not known.
	 */
	bool idle;
	uint32_t tcw; /* trace control word */
};

enum inv_match_flag {
	INV_MATCH_RETURN_TRACE = 1,
	INV_MATCH_EXCEPTION_TRACE = 2,
};

struct inv_match_run {
	struct inv_heap *heap;
	const struct inv_match_world *world;
	uint64_t steps;
	/* results */
	bool matched;	 /* a clause has */
	unsigned clause; /* which one, from 0 */
	inv_word result; /* true, or what {message, _} said; false if nothing
			      matched */
	unsigned flags;	 /* enum inv_match_flag */
	/* private */
	const struct inv_match_prog *prog;
	const inv_word *args;
	size_t n_args;
	inv_word list; /* of the arguments, 0: not made yet */
	struct inv_val stack[INV_MATCH_STACK];
	inv_word vars[INV_MATCH_VARS];
};

/* Enough for what people write. */
#define INV_MATCH_STEPS 1000000u

/*
 * 0: see the results.  Otherwise the program has no result:
 *
 *	INV_EUNKNOWN  it depends on what was not recorded, or on a live node
 *	INV_ETOOBIG   it takes more steps, or more memory than heap has, or
 *	              integers of more than INV_TREE_BIG_MAX bytes
 *	INV_EDEPTH    terms nested too deeply to be compared
 */
int inv_match_run(const struct inv_match_prog *p, struct inv_match_run *r,
		  const inv_word *args, size_t n_args);

#endif
