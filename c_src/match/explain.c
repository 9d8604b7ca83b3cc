/* SPDX-License-Identifier: Apache-2.0 */
#include "match/explain.h"

#include <stdio.h>

#include "term/tree_print.h"

struct explainer {
	const struct inv_spec *s;
	struct inv_buf *out;
	struct inv_print_opts o;
};

static void expr(struct explainer *e, const struct inv_mnode *x, bool inner);

static void term(struct explainer *e, inv_word t)
{
	int64_t v = inv_match_variable(t);

	if (v >= 0)
		inv_buf_printf(e->out, "$%lld", (long long)v);
	else if (inv_word_is(t, "_"))
		inv_buf_putc(e->out, '_');
	else
		inv_tree_print(t, e->out, &e->o);
}

/* Returns true for an operator that is written between its arguments. */
static bool is_infix(const struct inv_mnode *x)
{
	const char *name;

	if (x->kind == INV_NODE_AND || x->kind == INV_NODE_OR ||
	    x->kind == INV_NODE_ANDALSO || x->kind == INV_NODE_ORELSE)
		return x->n > 1;
	if (x->kind != INV_NODE_CALL || x->n != 2)
		return false;
	name = inv_match_fns[x->op].name;
	return *name < 'a' || x->op == INV_MF_DIV || x->op == INV_MF_REM ||
	       x->op == INV_MF_XOR ||
	       (x->op >= INV_MF_BAND && x->op <= INV_MF_BSR);
}

static const char *name_of(const struct inv_mnode *x)
{
	switch (x->kind) {
	case INV_NODE_AND:
		return "and";
	case INV_NODE_OR:
		return "or";
	case INV_NODE_ANDALSO:
		return "andalso";
	case INV_NODE_ORELSE:
		return "orelse";
	case INV_NODE_CALL:
		return inv_match_fns[x->op].name;
	default:
		return inv_match_acts[x->op].name;
	}
}

/*
 * Returns child `i', counted from 0 in the order of the text. Most kinds of
 * nodes have their children in reverse order.
 */
static const struct inv_mnode *child(const struct inv_mnode *x, uint32_t i)
{
	bool in_order = x->kind == INV_NODE_LIST ||
			x->kind == INV_NODE_ANDALSO ||
			x->kind == INV_NODE_ORELSE;
	const struct inv_mnode *c = x->child;

	for (i = in_order ? i : x->n - 1 - i; i > 0; i--)
		c = c->next;
	return c;
}

static void children(struct explainer *e, const struct inv_mnode *x, uint32_t n,
		     const char *between, bool inner)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			inv_buf_puts(e->out, between);
		expr(e, child(x, i), inner);
	}
}

static void infix(struct explainer *e, const struct inv_mnode *x, bool inner)
{
	char between[24];

	snprintf(between, sizeof(between), " %s ", name_of(x));
	if (inner)
		inv_buf_putc(e->out, '(');
	children(e, x, x->n, between, true);
	if (inner)
		inv_buf_putc(e->out, ')');
}

static void list(struct explainer *e, const struct inv_mnode *x)
{
	const struct inv_mnode *tail = child(x, x->n - 1);

	inv_buf_putc(e->out, '[');
	children(e, x, x->n - 1, ", ", false);
	if (tail->kind != INV_NODE_CONST || tail->term != INV_NIL) {
		inv_buf_puts(e->out, " | ");
		expr(e, tail, false);
	}
	inv_buf_putc(e->out, ']');
}

/*
 * Explains a map.  The children of its node are the values, the last value
 * first, and then the keys, the last key first.
 */
static void map(struct explainer *e, const struct inv_mnode *x)
{
	uint32_t n = x->n / 2;

	inv_buf_puts(e->out, "#{");
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			inv_buf_puts(e->out, ", ");
		expr(e, child(x, i), false);
		inv_buf_puts(e->out, " => ");
		expr(e, child(x, n + i), false);
	}
	inv_buf_putc(e->out, '}');
}

static void call(struct explainer *e, const struct inv_mnode *x)
{
	inv_buf_puts(e->out, name_of(x));
	inv_buf_putc(e->out, '(');
	children(e, x, x->n, ", ", false);
	inv_buf_putc(e->out, ')');
}

static void expr(struct explainer *e, const struct inv_mnode *x, bool inner)
{
	switch ((enum inv_node_kind)x->kind) {
	case INV_NODE_CONST:
		inv_tree_print(x->term, e->out, &e->o);
		break;
	case INV_NODE_VAR:
		inv_buf_printf(e->out, "$%u", e->s->names[x->op]);
		break;
	case INV_NODE_ARGS:
		inv_buf_puts(e->out, "$_");
		break;
	case INV_NODE_BINDINGS:
		inv_buf_puts(e->out, "$$");
		break;
	case INV_NODE_LIST:
		list(e, x);
		break;
	case INV_NODE_TUPLE:
		inv_buf_putc(e->out, '{');
		children(e, x, x->n, ", ", false);
		inv_buf_putc(e->out, '}');
		break;
	case INV_NODE_MAP:
		map(e, x);
		break;
	default:
		if (is_infix(x))
			infix(e, x, inner);
		else
			call(e, x);
	}
}

static void head(struct explainer *e, const struct inv_clause *c)
{
	const char *more = c->head == INV_HEAD_PREFIX ? " or more" : "";

	if (c->head == INV_HEAD_ANY) {
		inv_buf_puts(e->out, "any arguments");
		return;
	}
	if (c->head == INV_HEAD_WHOLE) {
		inv_buf_puts(e->out, "any arguments, as a list: ");
		term(e, c->args[0]);
		return;
	}
	if (c->n_args == 0) {
		inv_buf_puts(e->out, "no arguments");
		return;
	}
	inv_buf_printf(e->out, "%u argument%s%s: ", c->n_args,
		       c->n_args == 1 ? "" : "s", more);
	for (uint32_t i = 0; i < c->n_args; i++) {
		if (i > 0)
			inv_buf_puts(e->out, ", ");
		term(e, c->args[i]);
	}
}

static void lines(struct explainer *e, const struct inv_mnode *x,
		  const char *first, const char *other)
{
	for (const char *word = first; x; x = x->next, word = other) {
		inv_buf_printf(e->out, "  %-8s", word);
		expr(e, x, false);
		inv_buf_putc(e->out, '\n');
	}
}

void inv_match_explain(const struct inv_spec *s, unsigned otp,
		       struct inv_buf *out)
{
	struct explainer e = { .s = s,
			       .out = out,
			       .o = { .style = INV_PRINT_P, .otp = otp } };
	unsigned n = 1;

	for (const struct inv_clause *c = s->clauses; c; c = c->next, n++) {
		inv_buf_printf(out, "clause %u: ", n);
		head(&e, c);
		inv_buf_putc(out, '\n');
		lines(&e, c->guard, "when", "and");
		lines(&e, c->body, "does", "");
	}
}
