/* SPDX-License-Identifier: Apache-2.0 */
#include "match/compile.h"

#include <string.h>

/*
 * The compiler makes two passes over the tree. The first counts instructions
 * and constants, so that memory of the right size can be allocated. The second
 * writes them.
 */
struct emitter {
	uint32_t *code; /* NULL in the counting pass */
	inv_word *consts;
	uint32_t n_code;
	uint32_t n_consts;
	const struct inv_spec *s;
	const struct inv_clause *clause;
	bool too_big; /* an operand is too large */
};

static uint32_t emit(struct emitter *e, enum inv_match_op op, uint64_t a)
{
	if (a > INV_OPERAND_MAX)
		e->too_big = true;
	if (e->code)
		e->code[e->n_code] = inv_instr(op, (uint32_t)a);
	return e->n_code++;
}

static void emit_const(struct emitter *e, enum inv_match_op op, inv_word t)
{
	if (e->consts)
		e->consts[e->n_consts] = t;
	emit(e, op, e->n_consts++);
}

/*
 * Sets the target of all jumps of a list to the instruction that is emitted
 * next. `at' is the position of the last jump of the list. Until this call, the
 * operands link the list: each jump has the position of the previous jump as
 * its operand; 0 ends the list.
 */
static void land(struct emitter *e, uint32_t at)
{
	while (e->code && at > 0) {
		uint32_t before = inv_instr_a(e->code[at]);

		e->code[at] = inv_instr(inv_instr_op(e->code[at]), e->n_code);
		at = before;
	}
}

/* --- heads ---------------------------------------------------------------- */

static void pattern(struct emitter *e, inv_word t, uint64_t *bound);

static void map_pattern(struct emitter *e, const inv_word *b, uint64_t *bound)
{
	size_t n = inv_box_n(b), i;

	emit(e, INV_OP_ISMAP, n);
	for (i = 0; i < n; i++) {
		emit_const(e, INV_OP_KEY, b[1 + 2 * i]);
		pattern(e, b[2 + 2 * i], bound);
	}
	emit(e, INV_OP_DROP, 0);
}

static void variable_pattern(struct emitter *e, unsigned v, uint64_t *bound)
{
	uint64_t bit = UINT64_C(1) << v % 64;

	emit(e, bound[v / 64] & bit ? INV_OP_SAME : INV_OP_BIND, v);
	bound[v / 64] |= bit;
}

/*
 * Compiles a pattern that matches the term on top of the stack and removes it.
 */
static void pattern(struct emitter *e, inv_word t, uint64_t *bound)
{
	const inv_word *b;
	int v;

	for (; inv_is_cons(t); t = inv_cons(t)[1]) {
		emit(e, INV_OP_UNCONS, 0);
		pattern(e, inv_cons(t)[0], bound);
	}
	b = inv_is_box(t) ? inv_box(t) : NULL;
	v = inv_spec_var(e->s, t);
	if (v >= 0) {
		variable_pattern(e, (unsigned)v, bound);
	} else if (inv_word_is(t, "_")) {
		emit(e, INV_OP_DROP, 0);
	} else if (b && inv_box_kind(b) == INV_BOX_TUPLE) {
		emit(e, INV_OP_UNTUPLE, inv_box_n(b));
		for (size_t i = 0; i < inv_box_n(b); i++)
			pattern(e, b[1 + i], bound);
	} else if (b && inv_box_kind(b) == INV_BOX_MAP) {
		map_pattern(e, b, bound);
	} else {
		emit_const(e, INV_OP_EQ, t);
	}
}

static void head(struct emitter *e, const struct inv_clause *c)
{
	uint64_t bound[INV_MATCH_VARS / 64] = { 0 };

	switch (c->head) {
	case INV_HEAD_ANY:
		return;
	case INV_HEAD_WHOLE:
		emit(e, INV_OP_WHOLE, (uint64_t)inv_spec_var(e->s, c->args[0]));
		return;
	case INV_HEAD_PREFIX:
		emit(e, INV_OP_PREFIX, c->n_args);
		break;
	default:
		emit(e, INV_OP_ARITY, c->n_args);
	}
	for (uint32_t i = 0; i < c->n_args; i++)
		pattern(e, c->args[i], bound);
}

/* --- expressions ---------------------------------------------------------- */

static void expr(struct emitter *e, const struct inv_mnode *x);

static void siblings(struct emitter *e, const struct inv_mnode *x)
{
	for (; x; x = x->next)
		expr(e, x);
}

static void bindings(struct emitter *e)
{
	uint32_t n = 0;

	for (uint32_t v = 0; v < e->s->n_vars; v++)
		if (inv_clause_binds(e->clause, v)) {
			emit(e, INV_OP_VAR, v);
			n++;
		}
	emit_const(e, INV_OP_CONST, INV_NIL);
	emit(e, INV_OP_LIST, n);
}

/*
 * Compiles andalso or orelse. After each argument except the last, emits a jump
 * to the end of the expression, for the case that the argument decides the
 * result.
 */
static void short_circuit(struct emitter *e, const struct inv_mnode *x,
			  enum inv_match_op op)
{
	uint32_t jumps = 0;

	for (; x; x = x->next) {
		expr(e, x);
		if (x->next)
			jumps = emit(e, op, jumps);
	}
	land(e, jumps);
}

static void expr(struct emitter *e, const struct inv_mnode *x)
{
	switch ((enum inv_node_kind)x->kind) {
	case INV_NODE_CONST:
		emit_const(e, INV_OP_CONST, x->term);
		return;
	case INV_NODE_VAR:
		emit(e, INV_OP_VAR, x->op);
		return;
	case INV_NODE_ARGS:
		emit(e, INV_OP_ARGS, 0);
		return;
	case INV_NODE_BINDINGS:
		bindings(e);
		return;
	case INV_NODE_LIST:
		siblings(e, x->child);
		emit(e, INV_OP_LIST, x->n - 1);
		return;
	case INV_NODE_TUPLE:
		siblings(e, x->child);
		emit(e, INV_OP_TUPLE, x->n);
		return;
	case INV_NODE_MAP:
		siblings(e, x->child);
		emit(e, INV_OP_MAP, x->n / 2);
		return;
	case INV_NODE_AND:
	case INV_NODE_OR:
		siblings(e, x->child);
		emit(e, x->kind == INV_NODE_AND ? INV_OP_AND : INV_OP_OR, x->n);
		return;
	case INV_NODE_ANDALSO:
		short_circuit(e, x->child, INV_OP_ANDALSO);
		return;
	case INV_NODE_ORELSE:
		short_circuit(e, x->child, INV_OP_ORELSE);
		return;
	case INV_NODE_CALL:
		siblings(e, x->child);
		emit(e, INV_OP_CALL, x->op);
		return;
	case INV_NODE_ACT:
		siblings(e, x->child);
		if (x->op == INV_MACT_MESSAGE)
			emit(e, INV_OP_MESSAGE, 0);
		else
			emit(e, INV_OP_ACT, INV_ACT(x->op, x->n));
		return;
	}
}

static void clause(struct emitter *e, const struct inv_clause *c)
{
	uint32_t begin = emit(e, INV_OP_CLAUSE, 0);

	e->clause = c;
	head(e, c);
	for (const struct inv_mnode *x = c->guard; x; x = x->next) {
		expr(e, x);
		emit(e, INV_OP_TEST, 0);
	}
	emit(e, INV_OP_BODY, 0);
	for (const struct inv_mnode *x = c->body; x; x = x->next) {
		expr(e, x);
		emit(e, INV_OP_DROP, 0);
	}
	emit(e, INV_OP_END, 0);
	if (c->next && e->code)
		e->code[begin] = inv_instr(INV_OP_CLAUSE, e->n_code);
}

static void clauses(struct emitter *e)
{
	e->n_code = e->n_consts = 0;
	for (const struct inv_clause *c = e->s->clauses; c; c = c->next)
		clause(e, c);
}

int inv_match_compile(struct inv_match_prog *prog, const struct inv_spec *s,
		      unsigned otp, struct inv_heap *heap, struct inv_err *err)
{
	struct emitter e = { .s = s };

	clauses(&e);
	e.consts = inv_heap_take(heap, e.n_consts);
	e.code = (uint32_t *)inv_heap_take(heap, (e.n_code + 1) / 2);
	if (!e.consts || !e.code || e.too_big)
		return inv_err_set(err, INV_ETOOBIG,
				   "the match spec is too big");
	clauses(&e);
	*prog = (struct inv_match_prog){ .code = e.code,
					 .n_code = e.n_code,
					 .n_consts = e.n_consts,
					 .consts = e.consts,
					 .names = s->names,
					 .n_vars = s->n_vars,
					 .quirks = inv_match_quirks(otp),
					 .otp = otp };
	return inv_match_verify(prog, err);
}
