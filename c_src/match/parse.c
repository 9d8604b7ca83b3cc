/* SPDX-License-Identifier: Apache-2.0 */
#include "match/parse.h"

#include <string.h>

/*
 * What is checked, in which order, and where checking stops, is as in the VM,
 * so that the errors come out as its own: within a clause it goes on after an
 * error, and stops after the clause.
 */
struct parser {
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

static int give_up(struct parser *p, int code, const char *why)
{
	if (!p->rc)
		p->rc = inv_err_set(p->err, code, "%s", why);
	return p->rc;
}

static void *take(struct parser *p, size_t bytes)
{
	inv_word *w = inv_heap_take(p->heap, (bytes + 7) / 8);

	if (w)
		memset(w, 0, bytes);
	else
		give_up(p, INV_ETOOBIG, "the match spec is too big");
	return w;
}

static void wrong(struct parser *p, const char *fmt, inv_word t, uint64_t n,
		  const char *s)
{
	p->wrong = true;
	inv_diag_add(&p->s->diags, fmt, t, n, s);
}

static bool is_atom(inv_word t, const char *name)
{
	return inv_word_is(t, name);
}

/* --- variables ------------------------------------------------------------ */

/* Beyond this it is no variable: the VM's manual ends at a hundred million. */
#define VARIABLE_MAX 4000000000u

int64_t inv_match_variable(inv_word t)
{
	const inv_word *b = inv_box_of(t, INV_BOX_ATOM);
	const uint8_t *p;
	int64_t v = 0;
	size_t n, i;

	if (!b)
		return -1;
	p = inv_box_ptr(b, 1);
	n = inv_box_n(b);
	if (n < 2 || n > 11 || p[0] != '$' || (p[1] == '0' && n > 2))
		return -1;
	for (i = 1; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		v = 10 * v + (p[i] - '0');
	}
	return v <= VARIABLE_MAX ? v : -1;
}

int inv_spec_var(const struct inv_spec *s, inv_word t)
{
	int64_t v = inv_match_variable(t);

	for (uint32_t i = 0; v >= 0 && i < s->n_vars; i++)
		if (s->names[i] == v)
			return (int)i;
	return -1;
}

static void add_variable(struct parser *p, int64_t v)
{
	struct inv_spec *s = p->s;
	uint32_t i = s->n_vars;

	for (uint32_t k = 0; k < s->n_vars; k++)
		if (s->names[k] == v)
			return;
	if (i == INV_MATCH_VARS) {
		give_up(p, INV_ETOOBIG, "more than 256 variables");
		return;
	}
	for (; i > 0 && s->names[i - 1] > v; i--)
		s->names[i] = s->names[i - 1];
	s->names[i] = (uint32_t)v;
	s->n_vars++;
}

/* --- heads ---------------------------------------------------------------- */

typedef void head_fn(struct parser *p, inv_word t);

/* Calls fn for each atom in the head's term that may be a variable. */
static void each_atom(struct parser *p, inv_word t, head_fn *fn)
{
	const inv_word *b;
	size_t n, i;

	if (p->depth == INV_MATCH_DEPTH) {
		give_up(p, INV_EDEPTH, "the head is nested too deeply");
		return;
	}
	p->depth++;
	for (; inv_is_cons(t) && !p->rc; t = inv_cons(t)[1])
		each_atom(p, inv_cons(t)[0], fn);
	b = inv_is_box(t) ? inv_box(t) : NULL;
	n = b ? inv_box_n(b) : 0;
	if (b && inv_box_kind(b) == INV_BOX_ATOM)
		fn(p, t);
	else if (b && inv_box_kind(b) == INV_BOX_TUPLE)
		for (i = 0; i < n && !p->rc; i++)
			each_atom(p, b[1 + i], fn);
	else if (b && inv_box_kind(b) == INV_BOX_MAP)
		for (i = 0; i < n && !p->rc; i++)
			each_atom(p, b[2 + 2 * i], fn);
	p->depth--;
}

static void note_variable(struct parser *p, inv_word t)
{
	int64_t v = inv_match_variable(t);

	if (v >= 0)
		add_variable(p, v);
}

static void bind(struct parser *p, inv_word t)
{
	int v = inv_spec_var(p->s, t);

	if (v >= 0)
		p->clause->bound[v / 64] |= UINT64_C(1) << v % 64;
}

/* Variables are no keys of maps; the first such key is all that is told. */
static bool check_keys(struct parser *p, inv_word t)
{
	const inv_word *b;
	size_t n, i;
	bool ok = true;

	for (; inv_is_cons(t) && ok; t = inv_cons(t)[1])
		ok = check_keys(p, inv_cons(t)[0]);
	b = inv_is_box(t) ? inv_box(t) : NULL;
	n = b ? inv_box_n(b) : 0;
	if (b && inv_box_kind(b) == INV_BOX_TUPLE)
		for (i = 0; i < n && ok; i++)
			ok = check_keys(p, b[1 + i]);
	if (!b || inv_box_kind(b) != INV_BOX_MAP)
		return ok;
	for (i = 0; i < n; i++) {
		if (inv_match_variable(b[1 + 2 * i]) >= 0) {
			wrong(p, "Variable found in map key.", 0, 0, NULL);
			return false;
		}
		if (is_atom(b[1 + 2 * i], "_")) {
			wrong(p, "Underscore found in map key.", 0, 0, NULL);
			return false;
		}
	}
	for (i = 0; i < n && ok; i++)
		ok = check_keys(p, b[2 + 2 * i]);
	return ok;
}

/* The patterns of a list, one after the other. */
static void list_patterns(struct parser *p, struct inv_clause *c, inv_word t)
{
	inv_word *w, l;
	uint32_t n = 0;

	for (l = t; inv_is_cons(l); l = inv_cons(l)[1])
		n++;
	c->n_args = n;
	c->args = w = take(p, n * sizeof(*w) + 8);
	for (l = t; w && inv_is_cons(l); l = inv_cons(l)[1])
		*w++ = inv_cons(l)[0];
}

/* The list's shape was checked already; a tuple is taken for a list. */
static bool parse_head(struct parser *p, struct inv_clause *c, inv_word t)
{
	const inv_word *tuple = inv_box_of(t, INV_BOX_TUPLE);
	bool ok = true;

	if (inv_is_cons(t) || t == INV_NIL) {
		c->head = INV_HEAD_LIST;
		list_patterns(p, c, t);
		for (; inv_is_cons(t); t = inv_cons(t)[1])
			;
		if (t != INV_NIL)
			c->head = INV_HEAD_PREFIX;
	} else if (tuple) {
		c->head = INV_HEAD_LIST;
		c->n_args = (uint32_t)inv_box_n(tuple);
		c->args = tuple + 1;
	} else if (is_atom(t, "_")) {
		c->head = INV_HEAD_ANY;
	} else if (inv_match_variable(t) >= 0) {
		c->head = INV_HEAD_WHOLE;
		list_patterns(p, c, inv_make_cons(p->heap, t, INV_NIL));
		c->n_args = 1;
	} else {
		if (check_keys(p, t))
			wrong(p, "Match head is invalid in this context.", 0, 0,
			      NULL);
		return false;
	}
	for (uint32_t i = 0; i < c->n_args && ok && !p->rc; i++)
		ok = check_keys(p, c->args[i]);
	for (uint32_t i = 0; i < c->n_args && !p->rc; i++)
		each_atom(p, c->args[i], bind);
	return ok && !p->rc;
}

/* --- expressions ---------------------------------------------------------- */

static struct inv_mnode *expr(struct parser *p, inv_word t);

static struct inv_mnode *node(struct parser *p, enum inv_node_kind kind)
{
	struct inv_mnode *x = take(p, sizeof(*x));

	if (x)
		x->kind = (uint8_t)kind;
	return x;
}

static struct inv_mnode *constant(struct parser *p, inv_word t)
{
	struct inv_mnode *x = node(p, INV_NODE_CONST);

	if (x)
		x->term = t;
	if (!t)
		give_up(p, INV_ETOOBIG, "the match spec is too big");
	return x;
}

/* Adds a child to x; whether it is a constant. */
static bool append(struct parser *p, struct inv_mnode *x,
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

static struct inv_mnode *list_expr(struct parser *p, inv_word t)
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

static struct inv_mnode *tuple_expr(struct parser *p, const inv_word *b)
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

static struct inv_mnode *constant_map(struct parser *p,
				      const struct inv_mnode *x)
{
	size_t n = x->n / 2, i = 2 * n;
	inv_word *w = inv_heap_take(p->heap, 1 + 2 * n), map = 0;

	for (const struct inv_mnode *c = x->child; w && c; c = c->next) {
		w[i] = c->term;
		i = i == 2 ? 2 * n - 1 : i - 2;
	}
	if (w && inv_make_map(w, n, 0, &map))
		give_up(p, INV_EDEPTH, "the keys of a map cannot be compared");
	return constant(p, map);
}

static struct inv_mnode *map_expr(struct parser *p, const inv_word *b)
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

/* Elements from the second on are the arguments. */
static struct inv_mnode *with_args(struct parser *p, enum inv_node_kind kind,
				   unsigned op, const inv_word *b)
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

/* {current_stacktrace} and {current_stacktrace, Depth}: a number as it is. */
static bool check_depth(struct parser *p, const inv_word *b)
{
	static const char form[] = "Special form 'current_stacktrace' called "
				   "with ";
	int64_t depth;

	if (inv_box_n(b) < 2)
		return true;
	if (!inv_word_i64(b[2], &depth) ||
	    depth != (int64_t)((uint64_t)depth << 4) >> 4) {
		wrong(p, "%Snon small argument.", 0, 0, form);
		return false;
	}
	if (depth < 0)
		wrong(p, "%Snegative integer argument.", 0, 0, form);
	return depth >= 0;
}

static struct inv_mnode *act_expr(struct parser *p, int act, inv_word t)
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
		wrong(p, "Special form '%S' not allow for this trace event.", 0,
		      0, a->told);
		return NULL;
	}
	if (p->guard && !a->guard) {
		wrong(p, "Special form '%S' called in guard context.", 0, 0,
		      a->told);
		return NULL;
	}
	if (n < a->min || n > a->max) {
		/* What it is called by, whatever the other errors call it. */
		wrong(p, texts[a->text], t, 0, a->name);
		return NULL;
	}
	if (act == INV_MACT_CURRENT_STACKTRACE && !check_depth(p, b))
		return NULL;
	return with_args(p, INV_NODE_ACT, (unsigned)act, b);
}

static struct inv_mnode *call_expr(struct parser *p, inv_word t)
{
	const inv_word *b = inv_box(t), *name = inv_box(b[1]);
	size_t n = inv_box_n(b) - 1;
	int fn = inv_match_fn_find(inv_box_ptr(name, 1), inv_box_n(name), n,
				   p->otp);

	if (fn < 0) {
		wrong(p, "Function %T/%N does_not_exist.", b[1], n, NULL);
		return NULL;
	}
	if (p->guard && !inv_match_fns[fn].guard) {
		wrong(p, "Function %T/%N cannot be called in this context.",
		      b[1], n, NULL);
		return NULL;
	}
	return with_args(p, INV_NODE_CALL, (unsigned)fn, b);
}

static struct inv_mnode *fun_expr(struct parser *p, inv_word t)
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

	if (is_atom(b[1], "const")) {
		if (inv_box_n(b) == 2)
			return constant(p, b[2]);
		wrong(p,
		      "Special form 'const' called with more than one argument "
		      "in %T.",
		      t, 0, NULL);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (!is_atom(b[1], forms[i].name))
			continue;
		if (inv_box_n(b) >= 2)
			return with_args(p, forms[i].kind, 0, b);
		wrong(p, "Special form '%S' called without arguments in %T.", t,
		      0, forms[i].told);
		return NULL;
	}
	act = inv_match_act_find(inv_box_ptr(name, 1), inv_box_n(name), p->otp);
	return act >= 0 ? act_expr(p, act, t) : call_expr(p, t);
}

static struct inv_mnode *tuple_or_fun(struct parser *p, inv_word t)
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
	wrong(p,
	      "%T is neither a function call, nor a tuple (tuples are written "
	      "{{ ... }}).",
	      t, 0, NULL);
	return NULL;
}

static struct inv_mnode *atom_expr(struct parser *p, inv_word t)
{
	struct inv_mnode *x;
	int v = inv_spec_var(p->s, t);

	if (inv_match_variable(t) >= 0) {
		if (v < 0 || !inv_clause_binds(p->clause, (unsigned)v)) {
			wrong(p, "Variable $%N is unbound.", 0,
			      (uint64_t)inv_match_variable(t), NULL);
			return NULL;
		}
		x = node(p, INV_NODE_VAR);
		if (x)
			x->op = (uint16_t)v;
		return x;
	}
	if (is_atom(t, "$_"))
		return node(p, INV_NODE_ARGS);
	if (is_atom(t, "$$"))
		return node(p, INV_NODE_BINDINGS);
	return constant(p, t);
}

static struct inv_mnode *expr_of(struct parser *p, inv_word t)
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

/* NULL: it is wrong, or p->rc is set. */
static struct inv_mnode *expr(struct parser *p, inv_word t)
{
	struct inv_mnode *x;

	if (p->depth == INV_MATCH_DEPTH) {
		wrong(p, "Excessive nesting; system limit reached near: %T", t,
		      0, NULL);
		return NULL;
	}
	p->depth++;
	x = expr_of(p, t);
	p->depth--;
	return x;
}

static struct inv_mnode *exprs(struct parser *p, inv_word l)
{
	struct inv_mnode *first = NULL, **last = &first;

	if (!inv_is_cons(l) && l != INV_NIL) {
		wrong(p, "Match expression is not a list.", 0, 0, NULL);
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
		wrong(p, "Match expression is not a proper list.", 0, 0, NULL);
	return first;
}

/* --- clauses -------------------------------------------------------------- */

/* The whole list is looked at before anything is parsed. */
static bool check_shape(struct parser *p, inv_word spec)
{
	inv_word l, head;

	if (!inv_is_cons(spec)) {
		wrong(p, "Match programs are not in a list.", 0, 0, NULL);
		return false;
	}
	for (l = spec; inv_is_cons(l); l = inv_cons(l)[1])
		;
	if (l != INV_NIL) {
		wrong(p, "Match programs are not in a proper list.", 0, 0,
		      NULL);
		return false;
	}
	for (l = spec; inv_is_cons(l); l = inv_cons(l)[1]) {
		const inv_word *b = inv_box_of(inv_cons(l)[0], INV_BOX_TUPLE);

		if (!b || inv_box_n(b) != 3) {
			wrong(p,
			      "Match program part is not a tuple of arity 3.",
			      0, 0, NULL);
			return false;
		}
		for (head = b[1]; inv_is_cons(head); head = inv_cons(head)[1])
			;
		if (head != INV_NIL && inv_is_cons(b[1]) &&
		    !((inv_match_quirks(p->otp) & INV_MQ_PREFIX) &&
		      is_atom(head, "_"))) {
			wrong(p,
			      "Match expression part %T is not a proper list.",
			      b[1], 0, NULL);
			return false;
		}
	}
	return true;
}

static struct inv_clause *parse_clause(struct parser *p, const inv_word *b)
{
	struct inv_clause *c = take(p, sizeof(*c));

	p->clause = c;
	if (!c || !parse_head(p, c, b[1]))
		return c;
	p->guard = true;
	c->guard = exprs(p, b[2]);
	p->guard = false;
	if (!p->rc)
		c->body = exprs(p, b[3]);
	return c;
}

static void parse_clauses(struct parser *p, inv_word spec)
{
	struct inv_clause **last = &p->s->clauses, *c;
	inv_word l;

	for (l = spec; inv_is_cons(l) && !p->rc; l = inv_cons(l)[1])
		each_atom(p, inv_box(inv_cons(l)[0])[1], note_variable);
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
	struct parser p = { .s = s,
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
