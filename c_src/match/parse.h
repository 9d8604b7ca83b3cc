/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_PARSE_H
#define INV_MATCH_PARSE_H

#include "base/err.h"
#include "match/diag.h"
#include "match/program.h"

/*
 * The syntax tree of a match spec. Guards and bodies become nodes. The head of
 * a clause becomes no node: its patterns stay terms (struct inv_clause).
 */
enum inv_node_kind {
	INV_NODE_CONST,	   /* `term' is a constant; it can be a list, tuple or
			      map that contains only constants */
	INV_NODE_VAR,	   /* op is the variable's index in `names' of the
			      spec */
	INV_NODE_ARGS,	   /* '$_' */
	INV_NODE_BINDINGS, /* '$$' */
	INV_NODE_LIST,	   /* children: the elements, then the tail */
	INV_NODE_ANDALSO,  /* the children are the arguments */
	INV_NODE_ORELSE,
	/*
	 * From here on, the children are in reverse order, because the VM
	 * evaluates the last argument or element first.
	 */
	INV_NODE_TUPLE,
	INV_NODE_MAP, /* the children are all values, and then all keys */
	INV_NODE_AND,
	INV_NODE_OR,
	INV_NODE_CALL, /* op is of enum inv_match_fn */
	INV_NODE_ACT,  /* op is of enum inv_match_act */
};

struct inv_mnode {
	struct inv_mnode *next;	 /* next sibling */
	struct inv_mnode *child; /* first child */
	inv_word term;
	uint32_t n; /* number of children */
	uint16_t op;
	uint8_t kind;
};

/* How a head matches the list of arguments. */
enum inv_head_kind {
	INV_HEAD_ANY,	 /* '_' */
	INV_HEAD_WHOLE,	 /* a variable for the whole list */
	INV_HEAD_LIST,	 /* n patterns, for exactly n arguments */
	INV_HEAD_PREFIX, /* n patterns and a tail '_', for n or more
			    arguments */
};

struct inv_clause {
	struct inv_clause *next;
	enum inv_head_kind head;
	uint32_t n_args;      /* number of patterns, for LIST and PREFIX */
	const inv_word *args; /* the patterns; for WHOLE, the variable */
	/* The first guard and the first expression of the body. `next' leads to
	 * the others. */
	struct inv_mnode *guard;
	struct inv_mnode *body;
	uint64_t bound[INV_MATCH_VARS / 64]; /* a bit for each variable that the
						head binds */
};

/*
 * The kind of event for which the spec is compiled. It determines the allowed
 * actions.
 */
enum inv_match_event {
	INV_MATCH_CALL = 0,
	INV_MATCH_SEND,
	INV_MATCH_RECEIVE,
};

struct inv_spec {
	struct inv_clause *clauses;
	uint32_t n_clauses;
	uint32_t n_vars;
	/* variable i is '$N', where N is names[i]; in ascending order */
	uint32_t names[INV_MATCH_VARS];
	struct inv_diags diags;
};

/* Maximum nesting of tuples, lists, maps and calls. */
#define INV_MATCH_DEPTH 200u

/*
 * Parses a match spec for an OTP release.  Takes all memory from `heap'.  The
 * result points to terms of `spec'.  Returns 0, or:
 *
 *	INV_EINVAL	the spec is wrong; s->diags has the errors, with the
 *			VM's texts
 *	INV_ETOOBIG	`heap' is full, or the spec has more than
 *			INV_MATCH_VARS variables; `err' has the reason
 */
int inv_spec_parse(struct inv_spec *s, inv_word spec, unsigned otp,
		   enum inv_match_event event, struct inv_heap *heap,
		   struct inv_err *err);

/* Returns N if `t' is the atom '$N', or -1 if `t' is not a variable. */
int64_t inv_match_variable(inv_word t);

/* Returns the index of the variable `t' in s->names, or -1 if `t' is not a
 * variable of the spec. */
int inv_spec_var(const struct inv_spec *s, inv_word t);

static inline bool inv_clause_binds(const struct inv_clause *c, unsigned var)
{
	return c->bound[var / 64] >> var % 64 & 1;
}

#endif
