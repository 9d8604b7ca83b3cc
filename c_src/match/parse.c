/* SPDX-License-Identifier: Apache-2.0 */
#include "match/parse_int.h"

/* Checks before parsing that the spec is a list of tuples of three elements,
 * and that no head is an improper list. But in releases with the quirk
 * INV_MQ_PREFIX, a head may be an improper list that ends with '_'. */
static bool check_shape(struct inv__parser *p, inv_word spec)
{
	inv_word l, head;

	if (!inv_is_cons(spec)) {
		inv__parse_wrong(p, "Match programs are not in a list.", 0, 0,
				 NULL);
		return false;
	}
	for (l = spec; inv_is_cons(l); l = inv_cons(l)[1])
		;
	if (l != INV_NIL) {
		inv__parse_wrong(p, "Match programs are not in a proper list.",
				 0, 0, NULL);
		return false;
	}
	for (l = spec; inv_is_cons(l); l = inv_cons(l)[1]) {
		const inv_word *b = inv_box_of(inv_cons(l)[0], INV_BOX_TUPLE);

		if (!b || inv_box_n(b) != 3) {
			inv__parse_wrong(
				p,
				"Match program part is not a tuple of arity 3.",
				0, 0, NULL);
			return false;
		}
		for (head = b[1]; inv_is_cons(head); head = inv_cons(head)[1])
			;
		if (head != INV_NIL && inv_is_cons(b[1]) &&
		    !((inv_match_quirks(p->otp) & INV_MQ_PREFIX) &&
		      inv_word_is(head, "_"))) {
			inv__parse_wrong(
				p,
				"Match expression part %T is not a proper list.",
				b[1], 0, NULL);
			return false;
		}
	}
	return true;
}

static struct inv_clause *parse_clause(struct inv__parser *p, const inv_word *b)
{
	struct inv_clause *c = inv__parse_take(p, sizeof(*c));

	p->clause = c;
	if (!c || !inv__parse_head(p, c, b[1]))
		return c;
	p->guard = true;
	c->guard = inv__parse_exprs(p, b[2]);
	p->guard = false;
	if (!p->rc)
		c->body = inv__parse_exprs(p, b[3]);
	return c;
}

static void parse_clauses(struct inv__parser *p, inv_word spec)
{
	struct inv_clause **last = &p->s->clauses, *c;
	inv_word l;

	for (l = spec; inv_is_cons(l) && !p->rc; l = inv_cons(l)[1])
		inv__parse_variables(p, inv_box(inv_cons(l)[0])[1]);
	for (l = spec; inv_is_cons(l) && !p->rc && !p->wrong;
	     l = inv_cons(l)[1]) {
		c = parse_clause(p, inv_box(inv_cons(l)[0]));
		if (!c)
			return;
		*last = c;
		last = &c->next;
		p->s->n_clauses++;
	}
}

int inv_spec_parse(struct inv_spec *s, inv_word spec, unsigned otp,
		   enum inv_match_event event, struct inv_heap *heap,
		   struct inv_err *err)
{
	static const unsigned allowed[] = {
		[INV_MATCH_CALL] = INV_MN_TRACE | INV_MN_CALL,
		[INV_MATCH_SEND] = INV_MN_TRACE,
		[INV_MATCH_RECEIVE] = 0,
	};
	struct inv__parser p = { .s = s,
				 .heap = heap,
				 .err = err,
				 .otp = otp,
				 .allowed = allowed[event] };

	*s = (struct inv_spec){ .diags = { .heap = heap } };
	if (check_shape(&p, spec))
		parse_clauses(&p, spec);
	if (p.rc)
		return p.rc;
	if (p.wrong)
		return inv_err_set(err, INV_EINVAL, "%s",
				   s->diags.first ? s->diags.first->text :
						    "the match spec is wrong");
	return 0;
}
