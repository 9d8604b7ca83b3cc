/* SPDX-License-Identifier: Apache-2.0 */
#include "match/seq_label.h"

/* A VM of 64 bits stores integers from -SMALL_MAX to SMALL_MAX - 1 in one
 * word. */
#define SMALL_MAX (INT64_C(1) << 59)

static bool is_safe(const struct inv_mnode *label)
{
	inv_word t = label->term;

	if (label->kind != INV_NODE_CONST)
		return false;
	if (inv_is_small(t))
		return inv_small(t) >= -SMALL_MAX && inv_small(t) < SMALL_MAX;
	return inv_box_of(t, INV_BOX_ATOM);
}

/* Returns true if the first argument of set_seq_token is `label', or an
 * expression whose value can be `label'. */
static bool may_be_label(const struct inv_mnode *component)
{
	return component->kind != INV_NODE_CONST ||
	       inv_word_is(component->term, "label");
}

/* Returns true if the expression, or an expression inside it, sets an unsafe
 * label. The children of an action are its arguments, the last first. */
static bool is_unsafe(const struct inv_mnode *x)
{
	if (x->kind == INV_NODE_ACT && x->op == INV_MACT_SET_SEQ_TOKEN &&
	    may_be_label(x->child->next) && !is_safe(x->child))
		return true;
	for (const struct inv_mnode *c = x->child; c; c = c->next)
		if (is_unsafe(c))
			return true;
	return false;
}

unsigned inv_seq_label_unsafe(const struct inv_spec *s)
{
	unsigned n = 1;

	for (const struct inv_clause *c = s->clauses; c; c = c->next, n++)
		for (const struct inv_mnode *x = c->body; x; x = x->next)
			if (is_unsafe(x))
				return n;
	return 0;
}
