/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_PARSE_INT_H
#define INV_MATCH_PARSE_INT_H

#include <string.h>

#include "match/parse.h"

/*
 * Private to the files of the parser: parse.c splits a spec into clauses,
 * parse_head.c parses heads, parse_expr.c parses guards and bodies.
 *
 * To report the same errors as the VM, the parser makes the VM's checks in the
 * same order and stops at the same point: after an error it checks the rest of
 * the clause, and no further clause.
 */
struct inv__parser {
	struct inv_spec *s;
	struct inv_heap *heap;
	struct inv_err *err;
	unsigned otp;
	unsigned allowed; /* set of enum inv_match_need: facts that the event
			   * provides */
	bool guard;
	bool wrong; /* an error was found */
	int rc;	    /* reason to stop at once; 0: none */
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

/* Returns zeroed memory, or NULL if the heap is full; then the parse stops. */
static inline void *inv__parse_take(struct inv__parser *p, size_t bytes)
{
	inv_word *w = inv_heap_take(p->heap, (bytes + 7) / 8);

	if (w)
		memset(w, 0, bytes);
	else
		inv__parse_give_up(p, INV_ETOOBIG, "the match spec is too big");
	return w;
}

/* Adds an error of the spec; for the arguments see inv_diag_add. */
static inline void inv__parse_wrong(struct inv__parser *p, const char *fmt,
				    inv_word t, uint64_t n, const char *s)
{
	p->wrong = true;
	inv_diag_add(&p->s->diags, fmt, t, n, s);
}

/*
 * Numbers the variables of a head. Call this for all heads before parsing a
 * clause.
 */
void inv__parse_variables(struct inv__parser *p, inv_word head);

/*
 * Parses the head `t', whose shape was checked. Returns false if the head is
 * wrong or p->rc is set; then the caller must not check the guards and the body
 * of the clause.
 */
bool inv__parse_head(struct inv__parser *p, struct inv_clause *c, inv_word t);

/* Parses the expressions of a guard (p->guard) or body. Wrong expressions are
 * left out. */
struct inv_mnode *inv__parse_exprs(struct inv__parser *p, inv_word l);

#endif
