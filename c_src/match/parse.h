/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_PARSE_H
#define INV_MATCH_PARSE_H

#include "base/err.h"
#include "match/diag.h"
#include "match/program.h"

/*
 * A match spec as a tree of what it means.  Heads stay terms, in which only
 * the variables are numbered; guards and bodies become nodes.
 */
enum inv_node_kind {
	INV_NODE_CONST,	   /* term; also of lists, tuples and maps that have
			      nothing to evaluate in them */
	INV_NODE_VAR,	   /* op: the number of the variable */
	INV_NODE_ARGS,	   /* '$_' */
	INV_NODE_BINDINGS, /* '$$' */
	INV_NODE_LIST,	   /* children: elements, then the tail */
	INV_NODE_ANDALSO,  /* children: arguments */
	INV_NODE_ORELSE,
	/* children: what they have, the last first, as the VM evaluates it */
	INV_NODE_TUPLE,
	INV_NODE_MAP, /* values, then keys */
	INV_NODE_AND,
	INV_NODE_OR,
	INV_NODE_CALL, /* op: enum inv_match_fn */
	INV_NODE_ACT,  /* op: enum inv_match_act */
};

struct inv_mnode {
	struct inv_mnode *next;	 /* sibling */
	struct inv_mnode *child; /* the first */
	inv_word term;
	uint32_t n; /* children */
	uint16_t op;
	uint8_t kind;
};

/* How a head matches the list of arguments. */
enum inv_head_kind {
	INV_HEAD_ANY,	 /* '_' */
	INV_HEAD_WHOLE,	 /* one variable */
	INV_HEAD_LIST,	 /* n patterns for n arguments */
	INV_HEAD_PREFIX, /* n patterns for n arguments or more */
};

struct inv_clause {
	struct inv_clause *next;
	enum inv_head_kind head;
	uint32_t n_args;	 /* LIST, PREFIX */
	const inv_word *args;	 /* the patterns; WHOLE: one */
	struct inv_mnode *guard; /* siblings */
	struct inv_mnode *body;
	uint64_t bound[INV_MATCH_VARS / 64]; /* variables that the head binds */
};

/* What the spec is for: some actions are not for every event. */
enum inv_match_event {
	INV_MATCH_CALL = 0,
	INV_MATCH_SEND,
	INV_MATCH_RECEIVE,
};

struct inv_spec {
	struct inv_clause *clauses;
	uint32_t n_clauses;
	uint32_t n_vars;
	uint32_t names[INV_MATCH_VARS]; /* in rising order */
	struct inv_diags diags;
};

/* Tuples, lists, maps and calls within one another. */
#define INV_MATCH_DEPTH 200u

/*
 * Parses a spec of that release.  All memory is taken from heap, and terms of
 * spec are referred to.
 *
 *	INV_EINVAL   the spec is wrong: s->diags says why, as the VM does
 *	INV_ETOOBIG  heap is full, or there are more than INV_MATCH_VARS
 *	             variables; err says which
 */
int inv_spec_parse(struct inv_spec *s, inv_word spec, unsigned otp,
		   enum inv_match_event event, struct inv_heap *heap,
		   struct inv_err *err);

/* The variable that the atom t is, as $N; -1: none. */
int64_t inv_match_variable(inv_word t);

/* Its place in s->names; -1: it is not there. */
int inv_spec_var(const struct inv_spec *s, inv_word t);

static inline bool inv_clause_binds(const struct inv_clause *c, unsigned var)
{
	return c->bound[var / 64] >> var % 64 & 1;
}

#endif
