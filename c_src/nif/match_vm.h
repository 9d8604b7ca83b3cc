/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_MATCH_VM_H
#define INV_NIF_MATCH_VM_H

#include <erl_nif.h>

#include "match/program.h"
#include "match/value.h"

/*
 * Runs match programs over the VM's terms, using only the public NIF interface.
 *
 * A run ends with INV_EUNKNOWN if the program needs a fact that this interface
 * does not provide: the result of arithmetic beyond 64 bits, the size of a
 * bitstring that is not of whole bytes, the node of a pid, port or reference of
 * another node, or a fun's arity.  A run allocates nothing itself; terms that a
 * match spec's body builds belong to the environment of the run.
 */
/* A constant of a program, made once when the program is compiled. t is a term
 * of the environment of the constants. */
struct inv_vm_const {
	ERL_NIF_TERM t;
	struct inv_val v; /* valid unless copy is true */
	bool copy;	  /* a run must copy t into its own environment */
};

void inv_vm_const_init(struct inv_vm_const *c, ErlNifEnv *env, ERL_NIF_TERM t);

struct inv_vm_match {
	const struct inv_match_prog *prog;
	ErlNifEnv *env;			   /* environment of consts */
	const struct inv_vm_const *consts; /* the program's constants */
	ERL_NIF_TERM atoms[INV_AM_COUNT];
	ERL_NIF_TERM node; /* the name of this node */
};

struct inv_vm_run;

/*
 * Runs an action of a match spec with n arguments top[0], top[-1], ...  Returns
 * 0, INV_EXCEPTION (the action fails with 'EXIT'), or INV_EUNKNOWN.  The
 * function is not called for return_trace and exception_trace.
 */
typedef int inv_vm_act(struct inv_vm_run *r, enum inv_match_act act,
		       const struct inv_val *top, uint32_t n,
		       struct inv_val *out);

struct inv_vm_run {
	ErlNifEnv *env; /* where results are built */
	const struct inv_vm_match *match;
	inv_vm_act *act;
	void *arg;    /* the argument of `act' */
	uint32_t tcw; /* the VM's trace control word */
	uint64_t steps;
	/* The results, as in struct inv_match_run. */
	bool matched;
	unsigned clause;
	ERL_NIF_TERM result;
	unsigned flags;
	/* private */
	const struct inv_match_prog *prog;
	const ERL_NIF_TERM *args;
	unsigned n_args;
	struct inv_val *stack;
	ERL_NIF_TERM *vars;
	ERL_NIF_TERM *elements; /* elements of the tuple that is being built */
};

/*
 * inv_vm_room returns how many bytes of memory a run of the program needs for
 * its stack and variables, which are too large for the stack of a thread of the
 * VM. inv_vm_use makes r use the memory at `room'. Two runs at the same time
 * must not use the same memory.
 */
size_t inv_vm_room(const struct inv_match_prog *p);
void inv_vm_use(struct inv_vm_run *r, const struct inv_match_prog *p,
		void *room);

/*
 * Runs the program of r with these arguments. Call inv_vm_use first. Returns 0
 * with the results in r; INV_EUNKNOWN if a fact is missing; or INV_ETOOBIG if
 * the run would visit more than r->steps list elements. Two runs at the same
 * time need two structs inv_vm_run, but can share the program.
 */
int inv_vm_match_run(struct inv_vm_run *r, const ERL_NIF_TERM *args,
		     unsigned n_args);

#endif
