/* SPDX-License-Identifier: Apache-2.0 */
#include "match/act.h"

#include <string.h>

/* --- constant words ------------------------------------------------------- */

union atom_box {
	struct {
		inv_word head;
		const char *text;
	};
	inv_word w[2];
};

#define ATOM(name)                                                    \
	{                                                             \
		{                                                     \
			INV_BOX_ATOM | (sizeof(name) - 1) << 16, name \
		}                                                     \
	}

inv_word inv_tree_atom(enum inv_match_atom a)
{
	static const union atom_box atoms[INV_AM_COUNT] = {
		[INV_AM_TRUE] = ATOM("true"),
		[INV_AM_FALSE] = ATOM("false"),
		[INV_AM_EXIT] = ATOM("EXIT"),
		[INV_AM_UNDEFINED] = ATOM("undefined"),
	};

	return (inv_word)(uintptr_t)atoms[a].w;
}

#define HOLE(cut)                                       \
	{                                               \
		INV_BOX_HOLE | (inv_word)(cut) << 16, 0 \
	}

inv_word inv_tree_unknown(unsigned cut)
{
	static const inv_word other[2] = HOLE(INV_CUT_OTHER);
	static const inv_word binary[2] = HOLE(INV_CUT_BINARY);
	static const inv_word list[2] = HOLE(INV_CUT_LIST_MIN);

	return (inv_word)(uintptr_t)(cut == INV_CUT_BINARY   ? binary :
				     cut == INV_CUT_LIST_MIN ? list :
							       other);
}

/* --- actions -------------------------------------------------------------- */

static bool is_one_of(const struct inv_val *v, const char *const *names)
{
	for (; v->kind == INV_VAL_TERM && *names; names++)
		if (inv_word_is(v->t, *names))
			return true;
	return false;
}

static bool is_unknown(const struct inv_val *v)
{
	return v->kind == INV_VAL_TERM && inv_box_of(v->t, INV_BOX_HOLE);
}

static bool is_trace_flag(const struct inv_val *v)
{
	static const char *const flags[] = {
		"all",
		"arity",
		"call",
		"exiting",
		"garbage_collection",
		"monotonic_timestamp",
		"ports",
		"procs",
		"receive",
		"return_to",
		"running",
		"running_ports",
		"running_procs",
		"scheduler_id",
		"send",
		"set_on_first_link",
		"set_on_first_spawn",
		"set_on_link",
		"set_on_spawn",
		"silent",
		"strict_monotonic_timestamp",
		"timestamp",
		NULL,
	};

	return is_one_of(v, flags);
}

/*
 * Returns the value of {self} if the process is unknown: a HOLE (an unknown
 * term, see term/tree.h). It has a fixed address, by which is_self recognizes
 * it.
 */
static inv_word unknown_self(void)
{
	static const inv_word self[2] = HOLE(INV_CUT_OTHER);

	return (inv_word)(uintptr_t)self;
}

static inv_word self_of(const struct inv_match_world *w)
{
	return w->self ? w->self : unknown_self();
}

/*
 * Returns true if `v' is the value of {self}: the process that runs the match
 * spec. Only this process certainly exists.
 */
static bool is_self(const struct inv_match_run *r, const struct inv_val *v)
{
	return v->kind == INV_VAL_TERM && v->t == self_of(r->world);
}

/*
 * Computes the result of enable_trace and disable_trace. The result depends on
 * whether the process in the arguments exists. So it is known only for the
 * process that runs the match spec.
 */
static int switch_trace(const struct inv_match_run *r,
			const struct inv_val *top, uint32_t n,
			struct inv_val *out)
{
	const struct inv_val *flag = n == 1 ? top : &top[-1];

	if (is_unknown(flag))
		return INV_EUNKNOWN;
	if (!is_trace_flag(flag))
		return INV_EXCEPTION;
	*out = inv_val_term(inv_tree_atom(INV_AM_TRUE));
	return n == 1 || is_self(r, top) ? 0 : INV_EUNKNOWN;
}

/*
 * Checks a list of trace flags. Returns INV_EUNKNOWN if the list contains a
 * tracer, because only a node knows whether the tracer exists.
 */
static int check_flags(const struct inv_val *v)
{
	inv_word t = v->t;
	int rc = 0;

	if (v->kind != INV_VAL_TERM)
		return INV_EXCEPTION;
	for (; inv_is_cons(t); t = inv_cons(t)[1]) {
		struct inv_val item = inv_val_term(inv_cons(t)[0]);

		if (inv_box_of(item.t, INV_BOX_TUPLE) || is_unknown(&item))
			rc = INV_EUNKNOWN;
		else if (!is_trace_flag(&item))
			return INV_EXCEPTION;
	}
	if (t != INV_NIL)
		return inv_box_of(t, INV_BOX_HOLE) ? INV_EUNKNOWN :
						     INV_EXCEPTION;
	return rc;
}

/*
 * Computes the result of the action `trace'. It is false, because the action
 * changes nothing in a process that has no tracer.
 */
static int set_trace(const struct inv_match_run *r, const struct inv_val *top,
		     uint32_t n, struct inv_val *out)
{
	int off = check_flags(&top[-(int)(n - 2)]);
	int on = check_flags(&top[-(int)(n - 1)]);

	if (off == INV_EXCEPTION || on == INV_EXCEPTION)
		return INV_EXCEPTION;
	if (off || on || (n == 3 && !is_self(r, top)))
		return INV_EUNKNOWN;
	*out = inv_val_term(inv_tree_atom(INV_AM_FALSE));
	return 0;
}

/*
 * Computes the result of set_seq_token for a process without a token: [] or
 * {Flag,false}, as seq_trace:get_token/1 returns it.
 */
static int set_seq_token(struct inv_match_run *r, const struct inv_val *item,
			 struct inv_val *out)
{
	static const char *const flags[] = { "send",
					     "spawn",
					     "receive",
					     "print",
					     "timestamp",
					     "monotonic_timestamp",
					     "strict_monotonic_timestamp",
					     NULL };
	static const char *const others[] = { "label", "serial", NULL };
	inv_word *w;

	*out = inv_val_term(INV_NIL);
	if (is_one_of(item, others))
		return 0;
	if (!is_one_of(item, flags))
		return is_unknown(item) ? INV_EUNKNOWN : INV_EXCEPTION;
	w = inv_make_tuple(r->heap, 2);
	if (!w)
		return INV_ETOOBIG;
	w[1] = item->t;
	w[2] = inv_tree_atom(INV_AM_FALSE);
	out->t = (inv_word)(uintptr_t)w;
	return 0;
}

static int stacktrace(const struct inv_val *top, uint32_t n,
		      struct inv_val *out)
{
	bool none = n == 1 && top->kind == INV_VAL_INT && top->i == 0;

	*out = inv_val_term(none ? INV_NIL :
				   inv_tree_unknown(INV_CUT_LIST_MIN));
	return 0;
}

int inv_tree_act(struct inv_match_run *r, enum inv_match_act act,
		 const struct inv_val *top, uint32_t n, struct inv_val *out)
{
	const struct inv_match_world *w = r->world;
	inv_word unknown = inv_tree_unknown(INV_CUT_OTHER);

	*out = inv_val_term(inv_tree_atom(INV_AM_TRUE));
	switch (act) {
	case INV_MACT_SELF:
		*out = inv_val_term(self_of(w));
		return 0;
	case INV_MACT_RETURN_TRACE:
		r->flags |= INV_MATCH_RETURN_TRACE;
		return 0;
	case INV_MACT_EXCEPTION_TRACE:
		r->flags |= INV_MATCH_EXCEPTION_TRACE;
		return 0;
	case INV_MACT_IS_SEQ_TRACE:
		*out = inv_val_term(w->idle ? inv_tree_atom(INV_AM_FALSE) :
					      unknown);
		return 0;
	case INV_MACT_GET_SEQ_TOKEN:
		*out = inv_val_term(w->idle ? INV_NIL : unknown);
		return 0;
	case INV_MACT_SET_SEQ_TOKEN:
		*out = inv_val_term(unknown);
		return w->idle ? set_seq_token(r, top, out) : 0;
	case INV_MACT_PROCESS_DUMP:
		*out = inv_val_term(inv_tree_unknown(INV_CUT_BINARY));
		return 0;
	case INV_MACT_ENABLE_TRACE:
	case INV_MACT_DISABLE_TRACE:
		return switch_trace(r, top, n, out);
	case INV_MACT_TRACE:
		return set_trace(r, top, n, out);
	case INV_MACT_CALLER:
	case INV_MACT_CALLER_LINE:
		*out = inv_val_term(w->idle ? inv_tree_atom(INV_AM_UNDEFINED) :
					      unknown);
		return 0;
	case INV_MACT_CURRENT_STACKTRACE:
		return stacktrace(top, n, out);
	default: /* DISPLAY, SILENT, MESSAGE */
		return 0;
	}
}
