/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_PARSE_INT_H
#define INV_MATCH_PARSE_INT_H

#include <string.h>

#include "match/parse.h"

/*
 * Private to the files of the parser: parse.c splits a spec into clauses,
 * parse_head.c parses heads, parse_expr.c parses guards and bodies.
 *
 * The parser reports the same errors as the VM. So it makes the same checks in
 * the same order as the VM, and stops where the VM stops: after an error it
 * checks the rest of the clause, but no further clause.
 */
struct inv__parser {
	struct inv_spec *s;
	struct inv_heap *heap;
	struct inv_err *err;
	unsigned otp;
	unsigned allowed; /* what the match spec's events provide, a set of enum
			   * inv_match_need. An action that needs anything
			   * else is refused */
	bool guard;	  /* true: a guard is parsed; false: a body */
	bool wrong;	  /* an error of the match spec was found */
	int rc; /* not 0: parsing must stop at once with this error code */
	unsigned depth;
	struct inv_clause *clause;
};

/*
 * Stops the parse.  The first call sets the reason; later calls have no effect.
 */
static inline void inv__parse_give_up(struct inv__parser *p, int code,
				      const char *why)
{
	if (!p->rc)
		p->rc = inv_err_set(p->err, code, "%s", why);
}

/* Returns zeroed memory. If the heap is full, stops the parse and returns
 * NULL. */
static inline void *inv__parse_take(struct inv__parser *p, size_t bytes)
{
	inv_word *w = inv_heap_take(p->heap, (bytes + 7) / 8);

	if (w)
		memset(w, 0, bytes);
	else
		inv__parse_give_up(p, INV_ETOOBIG, "the match spec is too big");
	return w;
}

/* Adds an error of the match spec. The arguments are those of inv_diag_add: a
 * text, and what replaces %T, %N and %S in it. */
static inline void inv__parse_wrong(struct inv__parser *p, const char *fmt,
				    inv_word t, uint64_t n, const char *s)
{
	p->wrong = true;
	inv_diag_add(&p->s->diags, fmt, t, n, s);
}

/*
 * Adds the variables of a head to the table of variables. Call this for all
 * heads before you parse the first clause.
 */
void inv__parse_variables(struct inv__parser *p, inv_word head);

/*
 * Parses the head `t' into *c. If `t' is a list, the caller has checked that
 * the list is proper or ends with '_'. Returns false if the head is wrong or
 * p->rc is set. Then the caller must not check the guards and the body of the
 * clause.
 */
bool inv__parse_head(struct inv__parser *p, struct inv_clause *c, inv_word t);

/* Parses `l', a list of the expressions of a guard (if p->guard is true) or of
 * a body. Returns the first node. Wrong expressions get no node. */
struct inv_mnode *inv__parse_exprs(struct inv__parser *p, inv_word l);

#endif
