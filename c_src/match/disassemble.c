/* SPDX-License-Identifier: Apache-2.0 */
#include "match/diag.h"
#include "match/program.h"

#define TERM_MAX 199

static const char *op_name(enum inv_match_op op)
{
#define NAME(code, name, text) [code] = #name,
	static const char *const names[INV_OP_COUNT] = { INV_MATCH_OPS(NAME) };
#undef NAME

	return op < INV_OP_COUNT && names[op] ? names[op] : "?";
}

static void put_operand(const struct inv_match_prog *p, enum inv_match_op op,
			uint32_t a, struct inv_buf *out)
{
	switch (op) {
	case INV_OP_BIND:
	case INV_OP_SAME:
	case INV_OP_WHOLE:
	case INV_OP_VAR:
		if (a < p->n_vars)
			inv_buf_printf(out, "'$%u'", p->names[a]);
		break;
	case INV_OP_EQ:
	case INV_OP_KEY:
	case INV_OP_CONST:
		if (a < p->n_consts)
			inv_vm_print(p->consts[a], TERM_MAX, out);
		break;
	case INV_OP_CALL:
		if (a < INV_MF_COUNT)
			inv_buf_printf(out, "%s/%u", inv_match_fns[a].name,
				       inv_match_fns[a].arity);
		break;
	case INV_OP_ACT:
		if (INV_ACT_ID(a) < INV_MACT_COUNT)
			inv_buf_printf(out, "%s/%u",
				       inv_match_acts[INV_ACT_ID(a)].name,
				       INV_ACT_ARGS(a));
		break;
	case INV_OP_CLAUSE:
		if (a > 0)
			inv_buf_printf(out, "else %u", a);
		break;
	case INV_OP_ARITY:
	case INV_OP_PREFIX:
	case INV_OP_UNTUPLE:
	case INV_OP_ISMAP:
	case INV_OP_LIST:
	case INV_OP_TUPLE:
	case INV_OP_MAP:
	case INV_OP_AND:
	case INV_OP_OR:
	case INV_OP_ANDALSO:
	case INV_OP_ORELSE:
		inv_buf_u64(out, a);
		break;
	default:
		break;
	}
}

void inv_match_disassemble(const struct inv_match_prog *p, struct inv_buf *out)
{
	for (uint32_t pc = 0; pc < p->n_code; pc++) {
		enum inv_match_op op = inv_instr_op(p->code[pc]);

		inv_buf_printf(out, "%4u  %-8s", pc, op_name(op));
		put_operand(p, op, inv_instr_a(p->code[pc]), out);
		while (out->len > 0 && out->data[out->len - 1] == ' ')
			out->len--;
		inv_buf_putc(out, '\n');
	}
}
