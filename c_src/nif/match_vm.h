/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_MATCH_VM_H
#define INV_NIF_MATCH_VM_H

#include <erl_nif.h>

#include "match/program.h"
#include "match/value.h"

/*
 * Runs match programs over the VM's own terms, through the public NIF interface
 * alone.
 *
 * What that interface cannot tell ends a run with INV_EUNKNOWN: arithmetic
 * beyond 64 bits, the size of a bitstring that is not of whole bytes, the node
 * of what is not of this node, a fun's arity.
 * Nothing is allocated by us; terms that a body builds are the environment's.
 */
/* A constant of a program, made ready once: t is a term of env. */
struct inv_vm_const {
	ERL_NIF_TERM t;
	struct inv_val v; /* unless copy */
	bool copy;	  /* it is a term of its environment alone */
};

void inv_vm_const_init(struct inv_vm_const *c, ErlNifEnv *env, ERL_NIF_TERM t);

struct inv_vm_match {
	const struct inv_match_prog *prog;
	ErlNifEnv *env;			   /* of consts */
	const struct inv_vm_const *consts; /* as many as the program has */
	ERL_NIF_TERM atoms[INV_AM_COUNT];
	ERL_NIF_TERM node; /* this node's name */
};

struct inv_vm_run;

/*
 * What an action answers, and does: n arguments top[0], top[-1], ...  0,
 * INV_EXCEPTION ('EXIT'), or INV_EUNKNOWN.  return_trace and exception_trace do
 * not get here.
 */
typedef int inv_vm_act(struct inv_vm_run *r, enum inv_match_act act,
		       const struct inv_val *top, uint32_t n,
		       struct inv_val *out);

struct inv_vm_run {
	ErlNifEnv *env; /* where results are built */
	const struct inv_vm_match *match;
	inv_vm_act *act;
	void *arg;    /* act's */
	uint32_t tcw; /* trace control word */
	uint64_t steps;
	/* results, as those of struct inv_match_run */
	bool matched;
	unsigned clause;
	ERL_NIF_TERM result;
	unsigned flags;
	/* private */
	const struct inv_match_prog *prog;
	const ERL_NIF_TERM *args;
	unsigned n_args;
	struct inv_val stack[INV_MATCH_STACK];
	ERL_NIF_TERM vars[INV_MATCH_VARS];
};

/*
 * 0: see the results.  INV_EUNKNOWN; INV_ETOOBIG: more than r->steps elements
 * were to be looked at.  No thread runs two programs with one r; any number of
 * threads run one program.
 */
int inv_vm_match_run(struct inv_vm_run *r, const ERL_NIF_TERM *args,
		     unsigned n_args);

#endif
