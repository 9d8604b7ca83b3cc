/* SPDX-License-Identifier: Apache-2.0 */
#include "match/run.h"

#include <string.h>

#include "match/act.h"
#include "match/big.h"
#include "term/tree_number.h"

/* The m_ functions that run_body.inc requires, for trees (term/tree.h). */
#define machine inv_match_run

static struct inv_val m_load(struct machine *m, inv_word t)
{
	struct inv_number n;

	(void)m;
	if (inv_is_small(t))
		return inv_val_int(inv_small(t));
	n = inv_number(t);
	switch (n.kind) {
	case INV_NUMBER_INT:
		return inv_val_int(n.i);
	case INV_NUMBER_FLOAT:
		return inv_val_float(n.f);
	default:
		return inv_val_term(t);
	}
}

static inv_word m_atom(struct machine *m, enum inv_match_atom a)
{
	(void)m;
	return inv_tree_atom(a);
}

static bool m_is(struct machine *m, const struct inv_val *v,
		 enum inv_match_atom a)
{
	const inv_word *x = inv_box(inv_tree_atom(a)), *y;

	(void)m;
	if (v->kind != INV_VAL_TERM)
		return false;
	y = inv_box_of(v->t, INV_BOX_ATOM);
	return y && x[0] == y[0] &&
	       !memcmp(inv_box_ptr(x, 1), inv_box_ptr(y, 1), inv_box_n(x));
}

static enum inv_type hole_type(const inv_word *b)
{
	switch (inv_box_n(b)) {
	case INV_CUT_TUPLE:
		return INV_TYPE_TUPLE;
	case INV_CUT_MAP:
		return INV_TYPE_MAP;
	case INV_CUT_LIST:
	case INV_CUT_LIST_MIN:
		return INV_TYPE_LIST;
	case INV_CUT_BINARY:
		return b[1] % 8 ? INV_TYPE_BITSTRING : INV_TYPE_BINARY;
	case INV_CUT_INT:
		return INV_TYPE_BIG;
	default:
		return INV_TYPE_UNKNOWN;
	}
}

static enum inv_type m_type(struct machine *m, const struct inv_val *v)
{
	const inv_word *b;

	(void)m;
	if (inv_is_cons(v->t))
		return INV_TYPE_LIST;
	if (!inv_is_box(v->t))
		return INV_TYPE_NIL;
	b = inv_box(v->t);
	switch (inv_box_kind(b)) {
	case INV_BOX_ATOM:
		return INV_TYPE_ATOM;
	case INV_BOX_BIG:
		return INV_TYPE_BIG;
	case INV_BOX_TUPLE:
		return INV_TYPE_TUPLE;
	case INV_BOX_MAP:
		return INV_TYPE_MAP;
	case INV_BOX_BITS:
		return inv_box_n(b) % 8 ? INV_TYPE_BITSTRING : INV_TYPE_BINARY;
	case INV_BOX_PID:
		return INV_TYPE_PID;
	case INV_BOX_PORT:
		return INV_TYPE_PORT;
	case INV_BOX_REF:
		return INV_TYPE_REF;
	case INV_BOX_HOLE:
		return hole_type(b);
	default:
		return INV_TYPE_FUN;
	}
}

/*
 * Returns the error for an operation that needs a term of the type `wanted' but
 * got `t'. INV_EUNKNOWN: `t' was not recorded, and can be of this type.
 * INV_EXCEPTION: `t' is certainly of another type.
 */
static int another(inv_word t, enum inv_type wanted)
{
	const inv_word *b = inv_box_of(t, INV_BOX_HOLE);
	enum inv_type type = b ? hole_type(b) : INV_TYPE_UNKNOWN;

	return b && (type == INV_TYPE_UNKNOWN || type == wanted ||
		     wanted == INV_TYPE_UNKNOWN) ?
		       INV_EUNKNOWN :
		       INV_EXCEPTION;
}

static int m_tuple(struct machine *m, inv_word t, const inv_word **words,
		   size_t *n)
{
	const inv_word *b = inv_box_of(t, INV_BOX_TUPLE);

	(void)m;
	if (!b)
		return another(t, INV_TYPE_TUPLE);
	*words = b + 1;
	*n = inv_box_n(b);
	return 0;
}

static int m_cons(struct machine *m, inv_word t, inv_word *head, inv_word *tail)
{
	(void)m;
	if (!inv_is_cons(t))
		return another(t, INV_TYPE_LIST);
	*head = inv_cons(t)[0];
	*tail = inv_cons(t)[1];
	return 0;
}

static int m_length(struct machine *m, inv_word t, size_t *n)
{
	for (*n = 0; inv_is_cons(t); t = inv_cons(t)[1], ++*n)
		if (m->steps-- == 0)
			return INV_ETOOBIG;
	return t == INV_NIL ? 0 : another(t, INV_TYPE_LIST);
}

static int m_map_size(struct machine *m, inv_word t, size_t *n)
{
	const inv_word *b = inv_box_of(t, INV_BOX_MAP);

	(void)m;
	if (!b)
		return another(t, INV_TYPE_MAP);
	*n = inv_box_n(b);
	return inv_box_has(b, INV_BOX_PARTIAL) ? INV_EUNKNOWN : 0;
}

static int m_is_map(struct machine *m, inv_word t, size_t n)
{
	const inv_word *b = inv_box_of(t, INV_BOX_MAP);

	(void)m;
	if (!b)
		return another(t, INV_TYPE_MAP);
	if (inv_box_n(b) >= n)
		return 0;
	return inv_box_has(b, INV_BOX_PARTIAL) ? INV_EUNKNOWN : INV_EXCEPTION;
}

static int m_store(struct machine *m, const struct inv_val *v, inv_word *t)
{
	if (v->kind == INV_VAL_TERM)
		*t = v->t;
	else if (v->kind == INV_VAL_INT)
		*t = inv_make_int(m->heap, v->i);
	else
		*t = inv_make_float(m->heap, v->f);
	return *t ? 0 : INV_ETOOBIG;
}

/* Converts a value to a word. The word may point to `box', so it is valid only
 * as long as `box' is. */
static inv_word as_word(const struct inv_val *v, inv_word box[2])
{
	struct inv_heap h = { .w = box, .cap = 2 };

	switch (v->kind) {
	case INV_VAL_INT:
		return inv_make_int(&h, v->i);
	case INV_VAL_FLOAT:
		return inv_make_float(&h, v->f);
	default:
		return v->t;
	}
}

static int m_map_get(struct machine *m, inv_word t, const struct inv_val *key,
		     inv_word *value)
{
	const inv_word *b = inv_box_of(t, INV_BOX_MAP);
	unsigned zeros = m->prog->quirks & INV_MQ_ZEROS_DIFFER;
	inv_word box[2];

	if (!b)
		return another(t, INV_TYPE_MAP);
	return inv_tree_map_get(b, as_word(key, box), zeros ? INV_CMP_ZEROS : 0,
				&m->steps, value);
}

static int m_key(struct machine *m, inv_word map, uint32_t key, inv_word *value)
{
	struct inv_val v = inv_val_term(m->prog->consts[key]);

	return m_map_get(m, map, &v, value);
}

static int m_bits(struct machine *m, inv_word t, uint64_t *n)
{
	const inv_word *b = inv_box_of(t, INV_BOX_BITS);

	(void)m;
	if (!b)
		return another(t, INV_TYPE_BINARY);
	*n = inv_box_n(b);
	return 0;
}

static int m_part(struct machine *m, inv_word t, uint64_t pos, uint64_t len,
		  struct inv_val *out)
{
	const inv_word *b = inv_box(t);
	const uint8_t *p = inv_box_ptr(b, 1);

	*out = inv_val_term(
		inv_make_bits(m->heap, p + pos, (unsigned)b[2], 8 * len));
	return out->t ? 0 : INV_ETOOBIG;
}

static int m_node(struct machine *m, inv_word t, inv_word *node)
{
	const inv_word *b = inv_is_box(t) ? inv_box(t) : NULL;
	unsigned kind = b ? inv_box_kind(b) : 0;

	if (kind != INV_BOX_PID && kind != INV_BOX_PORT && kind != INV_BOX_REF)
		return another(t, INV_TYPE_UNKNOWN);
	if (b[3] > 0)
		*node = inv_make_atom(m->heap, inv_box_ptr(b, 2), b[3]);
	else if (b[1] == 0 && m->world->node)
		*node = m->world->node;
	else
		*node = inv_tree_unknown(INV_CUT_OTHER);
	return *node ? 0 : INV_ETOOBIG;
}

static int m_fun_arity(struct machine *m, inv_word t, size_t *n)
{
	const inv_word *b = inv_is_box(t) ? inv_box(t) : NULL;
	unsigned kind = b ? inv_box_kind(b) : 0;

	(void)m;
	if (kind == INV_BOX_TEXT)
		return INV_EUNKNOWN;
	if (kind != INV_BOX_FUN && kind != INV_BOX_EXPORT)
		return another(t, INV_TYPE_FUN);
	*n = inv_box_n(b);
	return *n > 255 ? INV_EUNKNOWN : 0;
}

static int m_cmp(struct machine *m, const struct inv_val *a,
		 const struct inv_val *b, unsigned how, int *r)
{
	inv_word x[2], y[2];

	if (a->kind == INV_VAL_INT && b->kind == INV_VAL_INT) {
		*r = (a->i > b->i) - (a->i < b->i);
		return 0;
	}
	return inv_tree_cmp(as_word(a, x), as_word(b, y), how, &m->steps, r);
}

static int m_eq(struct machine *m, const struct inv_val *a,
		const struct inv_val *b, unsigned how, bool *equal)
{
	inv_word x[2], y[2];

	if (a->kind == INV_VAL_INT && b->kind == INV_VAL_INT) {
		*equal = a->i == b->i;
		return 0;
	}
	return inv_tree_eq(as_word(a, x), as_word(b, y), how, &m->steps, equal);
}

static int m_same(struct machine *m, inv_word a, inv_word b, unsigned how,
		  bool *equal)
{
	return inv_tree_eq(a, b, how, &m->steps, equal);
}

static int m_eq_const(struct machine *m, inv_word t, uint32_t a, bool *equal)
{
	inv_word c = m->prog->consts[a];

	*equal = t == c;
	if (*equal || (!inv_is_box(t) && !inv_is_box(c)))
		return 0;
	return inv_tree_eq(t, c, INV_CMP_EXACT | INV_CMP_ZEROS, &m->steps,
			   equal);
}

static struct inv_val m_const(struct machine *m, uint32_t a)
{
	return m_load(m, m->prog->consts[a]);
}

static int m_args(struct machine *m, struct inv_val *out)
{
	inv_word l = m->list;
	size_t i;

	if (!l) {
		l = INV_NIL;
		for (i = m->n_args; i > 0 && l; i--)
			l = inv_make_cons(m->heap, m->args[i - 1], l);
		m->list = l;
	}
	*out = inv_val_term(l);
	return l ? 0 : INV_ETOOBIG;
}

static int m_list(struct machine *m, const struct inv_val *v, uint32_t n,
		  struct inv_val *out)
{
	inv_word l, head;
	int rc = m_store(m, &v[n], &l);

	while (!rc && n > 0) {
		rc = m_store(m, &v[--n], &head);
		if (rc)
			break;
		l = inv_make_cons(m->heap, head, l);
		rc = l ? 0 : INV_ETOOBIG;
	}
	*out = inv_val_term(l);
	/* If there are no elements, the result is the tail. If the tail is a
	 * number, it must become a value of kind INT or FLOAT. */
	if (!rc && !inv_is_cons(l))
		*out = m_load(m, l);
	return rc;
}

static int m_make_tuple(struct machine *m, const struct inv_val *top,
			uint32_t n, struct inv_val *out)
{
	inv_word *w = inv_make_tuple(m->heap, n);
	int rc = w ? 0 : INV_ETOOBIG;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = m_store(m, top - i, &w[1 + i]);
	*out = inv_val_term((inv_word)(uintptr_t)w);
	return rc;
}

static int m_make_map(struct machine *m, const struct inv_val *top, uint32_t n,
		      struct inv_val *out)
{
	inv_word *w = inv_heap_take(m->heap, 1 + 2 * (size_t)n), map = 0;
	int rc = w ? 0 : INV_ETOOBIG;

	for (uint32_t i = 0; i < n && !rc; i++) {
		rc = m_store(m, top - i, &w[1 + 2 * i]);
		if (!rc)
			rc = m_store(m, top - n - i, &w[2 + 2 * i]);
	}
	if (!rc)
		rc = inv_make_map(w, n, 0, &map);
	*out = inv_val_term(map);
	return rc;
}

/* Returns true if all of the integer `v' was recorded. */
static bool is_whole(const struct inv_val *v)
{
	return v->kind == INV_VAL_INT || inv_box_of(v->t, INV_BOX_BIG);
}

static int m_big(struct machine *m, enum inv_match_fn fn,
		 const struct inv_val *a, const struct inv_val *b,
		 struct inv_val *out)
{
	if (!is_whole(a) || !is_whole(b))
		return INV_EUNKNOWN;
	return inv_big_arith(fn, a, b, m->heap, out);
}

static int m_big_of(struct machine *m, double f, struct inv_val *out)
{
	uint64_t limbs[INV_FLOAT_LIMBS];
	size_t n = inv_float_limbs(f, limbs);

	*out = inv_val_term(inv_make_big(m->heap, f < 0, limbs, n));
	return out->t ? 0 : INV_ETOOBIG;
}

static int m_to_float(struct machine *m, inv_word t, double *f)
{
	const inv_word *b = inv_box_of(t, INV_BOX_BIG);

	if (!b)
		return INV_EUNKNOWN;
	return inv_big_to_float(b, m->prog->quirks & INV_MQ_FLOAT_NEAREST, f);
}

static int m_act(struct machine *m, enum inv_match_act act,
		 const struct inv_val *top, uint32_t n, struct inv_val *out)
{
	return inv_tree_act(m, act, top, n, out);
}

static inv_word m_this_node(struct machine *m)
{
	return m->world->node ? m->world->node :
				inv_tree_unknown(INV_CUT_OTHER);
}

static uint32_t m_tcw(struct machine *m)
{
	return m->world->tcw;
}

#include "match/run_body.inc"

int inv_match_run(const struct inv_match_prog *p, struct inv_match_run *r,
		  const inv_word *args, size_t n_args)
{
	r->prog = p;
	r->args = args;
	r->n_args = n_args;
	r->list = 0;
	return run(p, r, args, n_args);
}
