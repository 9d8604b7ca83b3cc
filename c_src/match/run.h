/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_RUN_H
#define INV_MATCH_RUN_H

#include "match/program.h"
#include "match/value.h"

/*
 * Runs the program of a match spec outside of a VM, on trees (term/tree.h).
 *
 * The program makes terms in `heap', which the caller empties between runs. The
 * size of `heap' limits the size of all these terms. `steps' limits how many
 * elements of terms a run reads. Only arithmetic on big integers (match/big.h)
 * allocates memory outside `heap'.
 */
struct inv_match_world {
	inv_word self; /* pid of the process that runs the match spec; 0:
			  unknown */
	inv_word node; /* name of the node, an atom; 0: unknown */
	/*
	 * True: the process is not traced, and has no sequential trace token
	 * and no caller, as in erlang:match_spec_test/3. False: it is unknown
	 * whether the process is traced, has a token, or has a caller.
	 */
	bool idle;
	uint32_t tcw; /* the VM's trace control word (system flag
			 trace_control_word) */
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
	bool matched;	 /* a clause has matched */
	unsigned clause; /* number of the clause that matched, from 0 */
	/* The value of {message, Value}; the atom true if the clause has no
	 * message; the atom false if no clause matched. */
	inv_word result;
	unsigned flags; /* set of enum inv_match_flag */
	/* private */
	const struct inv_match_prog *prog;
	const inv_word *args;
	size_t n_args;
	inv_word list; /* the list of arguments; 0: not built yet */
	struct inv_val stack[INV_MATCH_STACK];
	inv_word vars[INV_MATCH_VARS];
};

/* A value for `steps' that is enough for usual match specs. */
#define INV_MATCH_STEPS 1000000u

/*
 * Runs the program. Returns 0 if it has set the result fields of `r'. If there
 * is no result, returns:
 *
 *	INV_EUNKNOWN	the result depends on data that was not recorded, or on
 *			facts that only a node knows
 *	INV_ETOOBIG	the run needs more steps, more memory than heap has, or
 *			integers of more than INV_TREE_BIG_MAX bytes
 *	INV_EDEPTH	terms are nested too deeply for a comparison
 */
int inv_match_run(const struct inv_match_prog *p, struct inv_match_run *r,
		  const inv_word *args, size_t n_args);

#endif
