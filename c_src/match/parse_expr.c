/* SPDX-License-Identifier: Apache-2.0 */
#include "match/parse_int.h"

static struct inv_mnode *expr(struct inv__parser *p, inv_word t);

static struct inv_mnode *node(struct inv__parser *p, enum inv_node_kind kind)
{
	struct inv_mnode *x = inv__parse_take(p, sizeof(*x));

	if (x)
		x->kind = (uint8_t)kind;
	return x;
}

static struct inv_mnode *constant(struct inv__parser *p, inv_word t)
{
	struct inv_mnode *x = node(p, INV_NODE_CONST);

	if (x)
		x->term = t;
	if (!t)
		inv__parse_give_up(p, INV_ETOOBIG, "the match spec is too big");
	return x;
}

/*
 * Parses `t' and appends the node to the children of `x'. Returns true if the
 * node is a constant.
 */
static bool append(struct inv__parser *p, struct inv_mnode *x,
		   struct inv_mnode ***last, inv_word t)
{
	struct inv_mnode *child = expr(p, t);

	if (!child)
		return false;
	**last = child;
	*last = &child->next;
	x->n++;
	return child->kind == INV_NODE_CONST;
}

static struct inv_mnode *list_expr(struct inv__parser *p, inv_word t)
{
	struct inv_mnode *x = node(p, INV_NODE_LIST), **last;
	inv_word *w = NULL, all = 0, *tail = &all;
	bool constants = true;

	if (!x)
		return NULL;
	last = &x->child;
	for (; inv_is_cons(t) && !p->rc; t = inv_cons(t)[1])
		constants = append(p, x, &last, inv_cons(t)[0]) && constants;
	constants = append(p, x, &last, t) && constants;
	if (!constants || p->rc || p->wrong)
		return x;
	for (struct inv_mnode *c = x->child; c->next; c = c->next) {
		w = inv_heap_take(p->heap, 2);
		if (!w)
			return constant(p, 0);
		*tail = (inv_word)(uintptr_t)w + 2;
		w[0] = c->term;
		w[1] = c->next->term;
		tail = &w[1];
	}
	return constant(p, all);
}

static struct inv_mnode *tuple_expr(struct inv__parser *p, const inv_word *b)
{
	struct inv_mnode *x = node(p, INV_NODE_TUPLE), **last;
	size_t n = inv_box_n(b), i;
	bool constants = true;
	inv_word *w;

	if (!x)
		return NULL;
	last = &x->child;
	for (i = n; i > 0 && !p->rc; i--)
		constants = append(p, x, &last, b[i]) && constants;
	if (!constants || p->rc || p->wrong)
		return x;
	w = inv_make_tuple(p->heap, n);
	for (struct inv_mnode *c = x->child; w && c; c = c->next)
		w[n--] = c->term;
	return constant(p, (inv_word)(uintptr_t)w);
}

static struct inv_mnode *constant_map(struct inv__parser *p,
				      const struct inv_mnode *x)
{
	size_t n = x->n / 2, i = 2 * n;
	inv_word *w = inv_heap_take(p->heap, 1 + 2 * n), map = 0;

	for (const struct inv_mnode *c = x->child; w && c; c = c->next) {
		w[i] = c->term;
		i = i == 2 ? 2 * n - 1 : i - 2;
	}
	if (w && inv_make_map(w, n, 0, &map))
		inv__parse_give_up(p, INV_EDEPTH,
				   "the keys of a map cannot be compared");
	return constant(p, map);
}

static struct inv_mnode *map_expr(struct inv__parser *p, const inv_word *b)
{
	struct inv_mnode *x = node(p, INV_NODE_MAP), **last;
	size_t n = inv_box_n(b), i;
	bool constants = true;

	if (!x)
		return NULL;
	last = &x->child;
	for (i = 2 * n; i > 0 && !p->rc; i -= 2)
		constants = append(p, x, &last, b[i]) && constants;
	for (i = 2 * n; i > 0 && !p->rc; i -= 2)
		constants = append(p, x, &last, b[i - 1]) && constants;
	if (!constants || p->rc || p->wrong)
		return x;
	return constant_map(p, x);
}

/*
 * Makes a node for the function or action that the tuple `b' calls.  The
 * elements of `b' from the second on are its arguments.
 */
static struct inv_mnode *with_args(struct inv__parser *p,
				   enum inv_node_kind kind, unsigned op,
				   const inv_word *b)
{
	bool in_order = kind == INV_NODE_ANDALSO || kind == INV_NODE_ORELSE;
	struct inv_mnode *x = node(p, kind), **last;
	size_t n = inv_box_n(b), i;

	if (!x)
		return NULL;
	x->op = (uint16_t)op;
	last = &x->child;
	for (i = 2; i <= n && !p->rc; i++)
		append(p, x, &last, b[in_order ? i : n + 2 - i]);
	return x;
}

/* Checks {current_stacktrace} and {current_stacktrace, Depth}. Depth must be a
 * literal number. */
static bool check_depth(struct inv__parser *p, const inv_word *b)
{
	static const char form[] = "Special form 'current_stacktrace' called "
				   "with ";
	int64_t depth;

	if (inv_box_n(b) < 2)
		return true;
	if (!inv_word_i64(b[2], &depth) ||
	    depth != (int64_t)((uint64_t)depth << 4) >> 4) {
		inv__parse_wrong(p, "%Snon small argument.", 0, 0, form);
		return false;
	}
	if (depth < 0)
		inv__parse_wrong(p, "%Snegative integer argument.", 0, 0, form);
	return depth >= 0;
}

static struct inv_mnode *act_expr(struct inv__parser *p, int act, inv_word t)
{
	static const char *const texts[] = {
		[INV_MA_NONE_TAKEN] =
			"Special form '%S' called with arguments in %T.",
		[INV_MA_WRONG] = "Special form '%S' called with wrong number "
				 "of arguments in %T.",
	};
	const struct inv_match_act_info *a = &inv_match_acts[act];
	const inv_word *b = inv_box(t);
	size_t n = inv_box_n(b) - 1;

	if ((a->need & p->allowed) != a->need) {
		inv__parse_wrong(
			p, "Special form '%S' not allow for this trace event.",
			0, 0, a->told);
		return NULL;
	}
	if (p->guard && !a->guard) {
		inv__parse_wrong(p,
				 "Special form '%S' called in guard context.",
				 0, 0, a->told);
		return NULL;
	}
	if (n < a->min || n > a->max) {
		/*
		 * As in the VM, this message shows the name that match specs
		 * use for the action, a->name. Other messages show a->told.
		 */
		inv__parse_wrong(p, texts[a->text], t, 0, a->name);
		return NULL;
	}
	if (act == INV_MACT_CURRENT_STACKTRACE && !check_depth(p, b))
		return NULL;
	return with_args(p, INV_NODE_ACT, (unsigned)act, b);
}

static struct inv_mnode *call_expr(struct inv__parser *p, inv_word t)
{
	const inv_word *b = inv_box(t), *name = inv_box(b[1]);
	size_t n = inv_box_n(b) - 1;
	int fn = inv_match_fn_find(inv_box_ptr(name, 1), inv_box_n(name), n,
				   p->otp);

	if (fn < 0) {
		inv__parse_wrong(p, "Function %T/%N does_not_exist.", b[1], n,
				 NULL);
		return NULL;
	}
	if (p->guard && !inv_match_fns[fn].guard) {
		inv__parse_wrong(
			p, "Function %T/%N cannot be called in this context.",
			b[1], n, NULL);
		return NULL;
	}
	return with_args(p, INV_NODE_CALL, (unsigned)fn, b);
}

static struct inv_mnode *fun_expr(struct inv__parser *p, inv_word t)
{
	static const struct {
		const char *name;
		const char *told;
		enum inv_node_kind kind;
	} forms[] = {
		{ "and", "and", INV_NODE_AND },
		{ "or", "or", INV_NODE_OR },
		{ "andalso", "andalso", INV_NODE_ANDALSO },
		{ "andthen", "andalso", INV_NODE_ANDALSO },
		{ "orelse", "orelse", INV_NODE_ORELSE },
	};
	const inv_word *b = inv_box(t), *name = inv_box(b[1]);
	int act;

	if (inv_word_is(b[1], "const")) {
		if (inv_box_n(b) == 2)
			return constant(p, b[2]);
		inv__parse_wrong(
			p,
			"Special form 'const' called with more than one argument "
			"in %T.",
			t, 0, NULL);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (!inv_word_is(b[1], forms[i].name))
			continue;
		if (inv_box_n(b) >= 2)
			return with_args(p, forms[i].kind, 0, b);
		inv__parse_wrong(
			p, "Special form '%S' called without arguments in %T.",
			t, 0, forms[i].told);
		return NULL;
	}
	act = inv_match_act_find(inv_box_ptr(name, 1), inv_box_n(name), p->otp);
	return act >= 0 ? act_expr(p, act, t) : call_expr(p, t);
}

static struct inv_mnode *tuple_or_fun(struct inv__parser *p, inv_word t)
{
	const inv_word *b = inv_box(t), *inner;

	if (inv_box_n(b) == 1) {
		inner = inv_box_of(b[1], INV_BOX_TUPLE);
		if (inner)
			return tuple_expr(p, inner);
	}
	if (inv_box_n(b) >= 1 && inv_box_of(b[1], INV_BOX_ATOM) &&
	    inv_match_variable(b[1]) < 0)
		return fun_expr(p, t);
	inv__parse_wrong(
		p,
		"%T is neither a function call, nor a tuple (tuples are written "
		"{{ ... }}).",
		t, 0, NULL);
	return NULL;
}

static struct inv_mnode *atom_expr(struct inv__parser *p, inv_word t)
{
	struct inv_mnode *x;
	int v = inv_spec_var(p->s, t);

	if (inv_match_variable(t) >= 0) {
		if (v < 0 || !inv_clause_binds(p->clause, (unsigned)v)) {
			inv__parse_wrong(p, "Variable $%N is unbound.", 0,
					 (uint64_t)inv_match_variable(t), NULL);
			return NULL;
		}
		x = node(p, INV_NODE_VAR);
		if (x)
			x->op = (uint16_t)v;
		return x;
	}
	if (inv_word_is(t, "$_"))
		return node(p, INV_NODE_ARGS);
	if (inv_word_is(t, "$$"))
		return node(p, INV_NODE_BINDINGS);
	return constant(p, t);
}

static struct inv_mnode *expr_of(struct inv__parser *p, inv_word t)
{
	if (inv_is_cons(t))
		return list_expr(p, t);
	if (inv_box_of(t, INV_BOX_MAP))
		return map_expr(p, inv_box(t));
	if (inv_box_of(t, INV_BOX_TUPLE))
		return tuple_or_fun(p, t);
	if (inv_box_of(t, INV_BOX_ATOM))
		return atom_expr(p, t);
	return constant(p, t);
}

/*
 * Parses an expression. Returns NULL if the expression is wrong, or if p->rc is
 * set.
 */
static struct inv_mnode *expr(struct inv__parser *p, inv_word t)
{
	struct inv_mnode *x;

	if (p->depth == INV_MATCH_DEPTH) {
		inv__parse_wrong(
			p, "Excessive nesting; system limit reached near: %T",
			t, 0, NULL);
		return NULL;
	}
	p->depth++;
	x = expr_of(p, t);
	p->depth--;
	return x;
}

struct inv_mnode *inv__parse_exprs(struct inv__parser *p, inv_word l)
{
	struct inv_mnode *first = NULL, **last = &first;

	if (!inv_is_cons(l) && l != INV_NIL) {
		inv__parse_wrong(p, "Match expression is not a list.", 0, 0,
				 NULL);
		return NULL;
	}
	for (; inv_is_cons(l) && !p->rc; l = inv_cons(l)[1]) {
		struct inv_mnode *x = expr(p, inv_cons(l)[0]);

		if (!x)
			continue;
		*last = x;
		last = &x->next;
	}
	if (l != INV_NIL && !p->rc)
		inv__parse_wrong(p, "Match expression is not a proper list.", 0,
				 0, NULL);
	return first;
}
