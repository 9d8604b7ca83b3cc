/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_PROGRAM_H
#define INV_MATCH_PROGRAM_H

#include <stdint.h>

#include "match/table.h"
#include "term/tree.h"

/*
 * A compiled match spec: instructions of 32 bits for an interpreter with a
 * stack, variables and constants.  The lower 8 bits are an opcode and the upper
 * 24 an operand `a'.
 *
 * All jumps go forward, so a program always ends. At each instruction the
 * height of the stack is the same in every run. inv_match_verify checks the
 * program once, so the interpreter checks neither jumps nor the stack. Except
 * for its constants, a program does not depend on how terms are represented.
 * The interpreter (run_body.inc) is compiled twice: for trees (term/tree.h),
 * and for the VM's own terms.
 *
 * In a head or guard, "fail" means that the program continues with the next
 * clause; after the last clause it ends without a match.  In a body, an
 * expression that fails has the result 'EXIT'.
 *
 * The columns are: code, name, effect. In the effects, "x y -> z" means that
 * the instruction pops y and then x from the stack, and pushes z; `a' is the
 * operand.
 */
#define INV_MATCH_OPS(X)                                                       \
	X(1, CLAUSE, "a clause begins; on failure go on at a, unless it is 0") \
	/* heads: the stack has the terms that were not matched yet */         \
	X(2, ARITY, "fail unless there are a arguments; -> all of them")       \
	X(3, PREFIX, "fail unless there are a or more; -> the first a")        \
	X(4, WHOLE, "variable a becomes the list of arguments")                \
	X(5, BIND, "x -> ; variable a becomes x")                              \
	X(6, SAME, "x -> ; fail unless x =:= variable a")                      \
	X(7, EQ, "x -> ; fail unless x =:= constant a")                        \
	X(8, UNCONS, "x -> tail head; fail unless x is a cons")                \
	X(9, UNTUPLE, "x -> its elements; fail unless it has a of them")       \
	X(10, ISMAP, "x -> x; fail unless it is a map of a or more pairs")     \
	X(11, KEY, "x -> x value; fail unless map x has constant a as a key")  \
	X(12, DROP, "x -> ")                                                   \
	/* guards and bodies */                                                \
	X(13, CONST, "-> constant a")                                          \
	X(14, VAR, "-> variable a")                                            \
	X(15, ARGS, "-> the list of arguments")                                \
	X(16, LIST, "x1 .. xa tail -> [x1, .., xa | tail]")                    \
	X(17, TUPLE, "xa .. x1 -> {x1, .., xa}")                               \
	X(18, MAP, "va .. v1 ka .. k1 -> #{k1 => v1, ..}")                     \
	X(19, CALL, "arguments, the first on top -> result of function a")     \
	X(20, AND, "xa .. x1 -> boolean; fail unless all are booleans")        \
	X(21, OR, "xa .. x1 -> boolean; fail unless all are booleans")         \
	X(22, ANDALSO,                                                         \
	  "true -> ; false -> false, go to a; else fail, go to a")             \
	X(23, ORELSE, "false -> ; true -> true, go to a; else fail, go to a")  \
	X(24, TEST, "true -> ; else fail")                                     \
	X(25, BODY, "the body begins: nothing fails from here on")             \
	X(26, MESSAGE, "x -> true; x is the result")                           \
	X(27, ACT, "arguments, the first on top -> result of action a")        \
	X(28, END, "the clause has matched")

#define INV_MATCH_ENUM(code, name, text) INV_OP_##name = (code),
enum inv_match_op {
	INV_MATCH_OPS(INV_MATCH_ENUM) INV_OP_COUNT
};
#undef INV_MATCH_ENUM

/*
 * The operand of ACT consists of the action (enum inv_match_act) and the number
 * of its arguments.
 */
#define INV_ACT(act, n) ((uint32_t)(act) << 4 | (n))
#define INV_ACT_ID(a) ((a) >> 4)
#define INV_ACT_ARGS(a) ((a)&15)

#define INV_OPERAND_MAX 0xffffffu

static inline uint32_t inv_instr(enum inv_match_op op, uint32_t a)
{
	return (uint32_t)op | a << 8;
}

static inline enum inv_match_op inv_instr_op(uint32_t i)
{
	return (enum inv_match_op)(i & 0xff);
}

static inline uint32_t inv_instr_a(uint32_t i)
{
	return i >> 8;
}

/*
 * The maximum number of values on the stack, and of variables. A match spec
 * that needs more is refused. (The VM itself does not limit the number of
 * variables.)
 */
#define INV_MATCH_STACK 1024u
#define INV_MATCH_VARS 1024u

struct inv_match_prog {
	const uint32_t *code;
	uint32_t n_code;
	uint32_t n_consts;
	const inv_word *consts;
	const uint32_t *names; /* variable i is '$names[i]' */
	uint32_t n_vars;
	uint32_t n_stack; /* stack size, set by inv_match_verify */
	unsigned quirks;  /* enum inv_match_quirk */
	unsigned otp;
};

/*
 * Verifies a program and sets n_stack. Every instruction and operand must be
 * valid. A jump must go forward, to an instruction at which the stack has the
 * same height as at the jump. Variables must be bound before use. The stack
 * must neither underflow nor exceed its limit. Returns INV_EDAMAGED with the
 * reason if the program is invalid. The caller must ensure that n_code and
 * n_consts are right, and that the constants are terms.
 */
int inv_match_verify(struct inv_match_prog *p, struct inv_err *err);

/*
 * Appends the program as text: one line for each instruction, with its name
 * and what its operand means.
 */
void inv_match_disassemble(const struct inv_match_prog *p, struct inv_buf *out);

#endif
