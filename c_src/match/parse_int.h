/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_PARSE_INT_H
#define INV_MATCH_PARSE_INT_H

#include <string.h>

#include "match/parse.h"

/*
 * For the files of the parser only: parse.c takes a spec apart into clauses,
 * parse_head.c reads their heads, parse_expr.c their guards and bodies.
 *
 * What is checked, in which order, and where checking stops, is as in the VM,
 * so that the errors come out as its own: within a clause it goes on after an
 * error, and stops after the clause.
 */
struct inv__parser {
	struct inv_spec *s;
	struct inv_heap *heap;
	struct inv_err *err;
	unsigned otp;
	unsigned allowed; /* enum inv_match_need */
	bool guard;
	bool wrong; /* an error was found */
	int rc;	    /* what ends it at once */
	unsigned depth;
	struct inv_clause *clause;
};

/* Ends it: the first such call says why. */
static inline void inv__parse_give_up(struct inv__parser *p, int code,
				      const char *why)
{
	if (!p->rc)
		p->rc = inv_err_set(p->err, code, "%s", why);
}

/* Zeroed; NULL: the heap is full, and it is given up. */
static inline void *inv__parse_take(struct inv__parser *p, size_t bytes)
{
	inv_word *w = inv_heap_take(p->heap, (bytes + 7) / 8);

	if (w)
		memset(w, 0, bytes);
	else
		inv__parse_give_up(p, INV_ETOOBIG, "the match spec is too big");
	return w;
}

/* An error of the spec: fmt as inv_diag_add has it. */
static inline void inv__parse_wrong(struct inv__parser *p, const char *fmt,
				    inv_word t, uint64_t n, const char *s)
{
	p->wrong = true;
	inv_diag_add(&p->s->diags, fmt, t, n, s);
}

/* Numbers the variables of a head: of all heads, before any is read. */
void inv__parse_variables(struct inv__parser *p, inv_word head);

/*
 * Reads the head t, whose shape was checked, and what it binds.  False: it is
 * wrong, or p->rc is set, and the clause is not looked at further.
 */
bool inv__parse_head(struct inv__parser *p, struct inv_clause *c, inv_word t);

/* The expressions of a guard (p->guard) or a body; what is wrong is missing. */
struct inv_mnode *inv__parse_exprs(struct inv__parser *p, inv_word l);

#endif
