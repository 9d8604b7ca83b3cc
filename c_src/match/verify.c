/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "match/program.h"

/*
 * All jumps go forward, so the verifier makes one pass in the order of the
 * code. A table has the jumps whose targets were not reached yet, with the
 * height of the stack at each jump. When the pass reaches a target, the stack
 * must have the same height.
 */
#define JUMPS 64

enum part {
	PART_NONE,
	PART_HEAD,
	PART_GUARD,
	PART_BODY
};

struct verifier {
	struct inv_match_prog *p;
	struct inv_err *err;
	uint32_t pc;
	uint32_t height;
	enum part part;
	/*
	 * The instruction at which the program continues if the clause fails;
	 * 0: the clause is the last.
	 */
	uint32_t next;
	uint32_t n_jumps;
	struct {
		uint32_t to;
		uint32_t height;
	} jumps[JUMPS];
	uint64_t bound[INV_MATCH_VARS / 64];
};

static int bad(struct verifier *v, const char *why)
{
	return inv_err_set(v->err, INV_EDAMAGED,
			   "match program, instruction %u: %s", v->pc, why);
}

/* Checks an instruction that pops `in' values and pushes `out' values. */
static int use(struct verifier *v, uint32_t in, uint32_t out)
{
	if (v->height < in)
		return bad(v, "takes more than there is on the stack");
	v->height -= in;
	if (out > INV_MATCH_STACK || v->height > INV_MATCH_STACK - out)
		return inv_err_set(v->err, INV_ETOOBIG,
				   "the match spec needs a stack of more than "
				   "%u values",
				   INV_MATCH_STACK);
	v->height += out;
	if (v->height > v->p->n_stack)
		v->p->n_stack = v->height;
	return 0;
}

static int is_const(struct verifier *v, uint32_t a)
{
	return a < v->p->n_consts ? 0 : bad(v, "no such constant");
}

static int is_bound(struct verifier *v, uint32_t a)
{
	if (a >= v->p->n_vars || a >= INV_MATCH_VARS)
		return bad(v, "no such variable");
	return v->bound[a / 64] >> a % 64 & 1 ?
		       0 :
		       bad(v, "the variable is not bound");
}

static int binds(struct verifier *v, uint32_t a)
{
	if (a >= v->p->n_vars || a >= INV_MATCH_VARS)
		return bad(v, "no such variable");
	v->bound[a / 64] |= UINT64_C(1) << a % 64;
	return 0;
}

/* --- jumps ---------------------------------------------------------------- */

/* Checks a jump. The instruction tests the value on top of the stack. If it
 * jumps, the value stays on the stack. */
static int jump(struct verifier *v, uint32_t to)
{
	int rc = use(v, 1, 1);

	if (rc)
		return rc;
	if (to <= v->pc || to >= v->p->n_code)
		return bad(v, "the jump goes nowhere");
	for (uint32_t i = 0; i < v->n_jumps; i++)
		if (v->jumps[i].to == to && v->jumps[i].height == v->height)
			return use(v, 1, 0);
	if (v->n_jumps == JUMPS)
		return inv_err_set(v->err, INV_ETOOBIG,
				   "the match spec has more than %u 'andalso' "
				   "and 'orelse' within one another",
				   JUMPS);
	v->jumps[v->n_jumps].to = to;
	v->jumps[v->n_jumps++].height = v->height;
	return use(v, 1, 0);
}

static int landings(struct verifier *v)
{
	uint32_t i, kept = 0;

	for (i = 0; i < v->n_jumps; i++) {
		if (v->jumps[i].to != v->pc)
			v->jumps[kept++] = v->jumps[i];
		else if (v->jumps[i].height != v->height)
			return bad(v, "the stack is not as high as before the "
				      "jump");
	}
	v->n_jumps = kept;
	return 0;
}

/* --- clauses -------------------------------------------------------------- */

static int begin_clause(struct verifier *v, uint32_t next)
{
	if (v->part != PART_NONE || (v->pc > 0 && v->next != v->pc))
		return bad(v, "a clause begins within another");
	if (next != 0 && (next <= v->pc || next >= v->p->n_code))
		return bad(v, "the next clause is nowhere");
	v->part = PART_HEAD;
	v->next = next;
	memset(v->bound, 0, sizeof(v->bound));
	return 0;
}

static int end_clause(struct verifier *v)
{
	if (v->height != 0 || v->n_jumps > 0)
		return bad(v, "the clause ends with work left to do");
	if ((v->next ? v->next : v->p->n_code) != v->pc + 1)
		return bad(v, "the clause ends where the next does not begin");
	v->part = PART_NONE;
	return 0;
}

/* --- instructions --------------------------------------------------------- */

static int in_head(struct verifier *v, enum inv_match_op op, uint32_t a)
{
	int rc;

	if (v->part != PART_HEAD)
		return bad(v, "belongs in a head");
	switch (op) {
	case INV_OP_ARITY:
	case INV_OP_PREFIX:
		return use(v, 0, a);
	case INV_OP_WHOLE:
		return binds(v, a);
	case INV_OP_BIND:
		rc = use(v, 1, 0);
		return rc ? rc : binds(v, a);
	case INV_OP_SAME:
		rc = is_bound(v, a);
		return rc ? rc : use(v, 1, 0);
	case INV_OP_EQ:
		rc = is_const(v, a);
		return rc ? rc : use(v, 1, 0);
	case INV_OP_UNCONS:
		return use(v, 1, 2);
	case INV_OP_UNTUPLE:
		return use(v, 1, a);
	case INV_OP_ISMAP:
		return use(v, 1, 1);
	default: /* KEY */
		rc = is_const(v, a);
		return rc ? rc : use(v, 1, 2);
	}
}

static int body_begins(struct verifier *v)
{
	if (v->part != PART_HEAD && v->part != PART_GUARD)
		return bad(v, "there is a body already");
	if (v->height != 0)
		return bad(v, "the guards leave something on the stack");
	v->part = PART_BODY;
	return 0;
}

static int act(struct verifier *v, uint32_t a)
{
	const struct inv_match_act_info *info;

	if (INV_ACT_ID(a) >= INV_MACT_COUNT)
		return bad(v, "no such action");
	info = &inv_match_acts[INV_ACT_ID(a)];
	if (INV_ACT_ARGS(a) < info->min || INV_ACT_ARGS(a) > info->max ||
	    INV_ACT_ID(a) == INV_MACT_MESSAGE)
		return bad(v, "the action has another number of arguments");
	if (v->part != PART_BODY && !info->guard)
		return bad(v, "the action belongs in a body");
	return use(v, INV_ACT_ARGS(a), 1);
}

static int call(struct verifier *v, uint32_t a)
{
	if (a >= INV_MF_COUNT)
		return bad(v, "no such function");
	if (v->part != PART_BODY && !inv_match_fns[a].guard)
		return bad(v, "the function belongs in a body");
	return use(v, inv_match_fns[a].arity, 1);
}

/*
 * Checks an instruction that makes one term from per * a + more values. First
 * checks that `a' is not too large, so that this sum cannot overflow.
 */
static int build(struct verifier *v, uint32_t per, uint32_t a, uint32_t more)
{
	if (a > INV_MATCH_STACK)
		return bad(v, "takes more than there is on the stack");
	return use(v, per * a + more, 1);
}

static int in_expr(struct verifier *v, enum inv_match_op op, uint32_t a)
{
	int rc;

	if (v->part == PART_HEAD) {
		if (v->height != 0)
			return bad(v, "the head leaves something on the stack");
		v->part = PART_GUARD;
	}
	if (v->part == PART_NONE)
		return bad(v, "is in no clause");
	switch (op) {
	case INV_OP_CONST:
		rc = is_const(v, a);
		return rc ? rc : use(v, 0, 1);
	case INV_OP_VAR:
		rc = is_bound(v, a);
		return rc ? rc : use(v, 0, 1);
	case INV_OP_ARGS:
		return use(v, 0, 1);
	case INV_OP_LIST:
		return build(v, 1, a, 1);
	case INV_OP_TUPLE:
		return build(v, 1, a, 0);
	case INV_OP_MAP:
		return build(v, 2, a, 0);
	case INV_OP_CALL:
		return call(v, a);
	case INV_OP_AND:
	case INV_OP_OR:
		return build(v, 1, a, 0);
	case INV_OP_ANDALSO:
	case INV_OP_ORELSE:
		return jump(v, a);
	case INV_OP_TEST:
		return v->part == PART_GUARD ? use(v, 1, 0) :
					       bad(v, "belongs in a guard");
	case INV_OP_MESSAGE:
		return v->part == PART_BODY ? use(v, 1, 1) :
					      bad(v, "belongs in a body");
	default: /* ACT */
		return act(v, a);
	}
}

static int instruction(struct verifier *v, enum inv_match_op op, uint32_t a)
{
	switch (op) {
	case INV_OP_CLAUSE:
		return begin_clause(v, a);
	case INV_OP_BODY:
		return body_begins(v);
	case INV_OP_END:
		return v->part == PART_BODY ? end_clause(v) :
					      bad(v, "belongs in a body");
	case INV_OP_DROP:
		return v->part == PART_HEAD || v->part == PART_BODY ?
			       use(v, 1, 0) :
			       bad(v, "a guard is dropped");
	case INV_OP_ARITY:
	case INV_OP_PREFIX:
	case INV_OP_WHOLE:
	case INV_OP_BIND:
	case INV_OP_SAME:
	case INV_OP_EQ:
	case INV_OP_UNCONS:
	case INV_OP_UNTUPLE:
	case INV_OP_ISMAP:
	case INV_OP_KEY:
		return in_head(v, op, a);
	default:
		if (op < INV_OP_CONST || op >= INV_OP_COUNT)
			return bad(v, "there is no such instruction");
		return in_expr(v, op, a);
	}
}

int inv_match_verify(struct inv_match_prog *p, struct inv_err *err)
{
	struct verifier v = { .p = p, .err = err, .part = PART_NONE };
	int rc = 0;

	p->n_stack = 0;
	if (p->n_vars > INV_MATCH_VARS)
		return bad(&v, "too many variables");
	for (; v.pc < p->n_code && !rc; v.pc++) {
		uint32_t i = p->code[v.pc];

		rc = landings(&v);
		if (!rc)
			rc = instruction(&v, inv_instr_op(i), inv_instr_a(i));
	}
	if (!rc && (v.part != PART_NONE || p->n_code == 0))
		rc = bad(&v, "the program ends within a clause");
	return rc;
}
