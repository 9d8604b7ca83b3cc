/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/match_vm.h"

#include <string.h>

#include "match/run.h"
#include "term/tree_number.h"

_Static_assert(sizeof(ERL_NIF_TERM) == sizeof(inv_word), "terms are words");

/* The operations on the VM's terms, for run_body.inc, which runs programs. */
#define machine inv_vm_run

static struct inv_val m_load(struct machine *m, inv_word t)
{
	ErlNifSInt64 i;
	double f;

	if (enif_get_int64(m->env, t, &i))
		return inv_val_int(i);
	if (enif_get_double(m->env, t, &f))
		return inv_val_float(f);
	return inv_val_term(t);
}

static inv_word m_atom(struct machine *m, enum inv_match_atom a)
{
	return m->match->atoms[a];
}

static bool m_is(struct machine *m, const struct inv_val *v,
		 enum inv_match_atom a)
{
	return v->kind == INV_VAL_TERM && v->t == m->match->atoms[a];
}

static enum inv_type m_type(struct machine *m, const struct inv_val *v)
{
	switch (enif_term_type(m->env, v->t)) {
	case ERL_NIF_TERM_TYPE_ATOM:
		return INV_TYPE_ATOM;
	case ERL_NIF_TERM_TYPE_BITSTRING:
		return enif_is_binary(m->env, v->t) ? INV_TYPE_BINARY :
						      INV_TYPE_BITSTRING;
	case ERL_NIF_TERM_TYPE_FUN:
		return INV_TYPE_FUN;
	case ERL_NIF_TERM_TYPE_INTEGER:
		return INV_TYPE_BIG;
	case ERL_NIF_TERM_TYPE_LIST:
		return enif_is_empty_list(m->env, v->t) ? INV_TYPE_NIL :
							  INV_TYPE_LIST;
	case ERL_NIF_TERM_TYPE_MAP:
		return INV_TYPE_MAP;
	case ERL_NIF_TERM_TYPE_PID:
		return INV_TYPE_PID;
	case ERL_NIF_TERM_TYPE_PORT:
		return INV_TYPE_PORT;
	case ERL_NIF_TERM_TYPE_REFERENCE:
		return INV_TYPE_REF;
	case ERL_NIF_TERM_TYPE_TUPLE:
		return INV_TYPE_TUPLE;
	default:
		return INV_TYPE_UNKNOWN;
	}
}

static int m_tuple(struct machine *m, inv_word t, const inv_word **words,
		   size_t *n)
{
	int arity;

	if (!enif_get_tuple(m->env, t, &arity, words))
		return INV_EXCEPTION;
	*n = (size_t)arity;
	return 0;
}

static int m_cons(struct machine *m, inv_word t, inv_word *head, inv_word *tail)
{
	return enif_get_list_cell(m->env, t, head, tail) ? 0 : INV_EXCEPTION;
}

static int m_length(struct machine *m, inv_word t, size_t *n)
{
	ERL_NIF_TERM head;

	for (*n = 0; enif_get_list_cell(m->env, t, &head, &t); ++*n)
		if (m->steps-- == 0)
			return INV_ETOOBIG;
	return enif_is_empty_list(m->env, t) ? 0 : INV_EXCEPTION;
}

static int m_map_size(struct machine *m, inv_word t, size_t *n)
{
	return enif_get_map_size(m->env, t, n) ? 0 : INV_EXCEPTION;
}

static int m_is_map(struct machine *m, inv_word t, size_t n)
{
	size_t have;

	return enif_get_map_size(m->env, t, &have) && have >= n ? 0 :
								  INV_EXCEPTION;
}

static int m_store(struct machine *m, const struct inv_val *v, inv_word *t)
{
	switch (v->kind) {
	case INV_VAL_INT:
		*t = enif_make_int64(m->env, v->i);
		return 0;
	case INV_VAL_FLOAT:
		*t = enif_make_double(m->env, v->f);
		return 0;
	default:
		*t = v->t;
		return 0;
	}
}

static int m_map_get(struct machine *m, inv_word t, const struct inv_val *key,
		     inv_word *value)
{
	inv_word k;

	*value = 0;
	if (!enif_is_map(m->env, t))
		return INV_EXCEPTION;
	m_store(m, key, &k);
	if (!enif_get_map_value(m->env, t, k, value))
		*value = 0;
	return 0;
}

static int m_key(struct machine *m, inv_word map, uint32_t key, inv_word *value)
{
	*value = 0;
	if (!enif_is_map(m->env, map))
		return INV_EXCEPTION;
	if (!enif_get_map_value(m->env, map, m->match->consts[key].t, value))
		*value = 0;
	return 0;
}

static int m_bits(struct machine *m, inv_word t, uint64_t *n)
{
	struct inv_val v = inv_val_term(t);
	ErlNifBinary bin;

	if (enif_inspect_binary(m->env, t, &bin)) {
		*n = 8 * (uint64_t)bin.size;
		return 0;
	}
	return m_type(m, &v) == INV_TYPE_BITSTRING ? INV_EUNKNOWN :
						     INV_EXCEPTION;
}

static int m_part(struct machine *m, inv_word t, uint64_t pos, uint64_t len,
		  struct inv_val *out)
{
	*out = inv_val_term(enif_make_sub_binary(m->env, t, pos, len));
	return 0;
}

static int m_node(struct machine *m, inv_word t, inv_word *node)
{
	struct inv_val v = inv_val_term(t);
	ErlNifPort port;
	ErlNifPid pid;

	*node = m->match->node;
	if (enif_get_local_pid(m->env, t, &pid) ||
	    enif_get_local_port(m->env, t, &port))
		return 0;
	switch (m_type(m, &v)) {
	case INV_TYPE_PID:
	case INV_TYPE_PORT:
	case INV_TYPE_REF:
		return INV_EUNKNOWN;
	default:
		return INV_EXCEPTION;
	}
}

static int m_fun_arity(struct machine *m, inv_word t, size_t *n)
{
	*n = 0;
	return enif_is_fun(m->env, t) ? INV_EUNKNOWN : INV_EXCEPTION;
}

static int m_cmp(struct machine *m, const struct inv_val *a,
		 const struct inv_val *b, unsigned how, int *r)
{
	inv_word x, y;

	if (a->kind == INV_VAL_INT && b->kind == INV_VAL_INT) {
		*r = (a->i > b->i) - (a->i < b->i);
	} else if (a->kind == INV_VAL_FLOAT && b->kind == INV_VAL_FLOAT) {
		*r = inv_cmp_floats(a->f, b->f, how);
	} else if (a->kind == INV_VAL_INT && b->kind == INV_VAL_FLOAT) {
		*r = inv_cmp_int_float(a->i, b->f);
	} else if (a->kind == INV_VAL_FLOAT && b->kind == INV_VAL_INT) {
		*r = -inv_cmp_int_float(b->i, a->f);
	} else {
		m_store(m, a, &x);
		m_store(m, b, &y);
		*r = enif_compare(x, y);
	}
	return 0;
}

static int m_same(struct machine *m, inv_word a, inv_word b, unsigned how,
		  bool *equal)
{
	(void)m;
	(void)how; /* unused: the VM compares */
	*equal = enif_is_identical(a, b);
	return 0;
}

static int m_eq(struct machine *m, const struct inv_val *a,
		const struct inv_val *b, unsigned how, bool *equal)
{
	inv_word x, y;
	int r;

	if (!(how & INV_CMP_EXACT)) {
		m_cmp(m, a, b, 0, &r);
		*equal = r == 0;
		return 0;
	}
	*equal = false;
	if (a->kind != b->kind)
		return 0;
	if (a->kind == INV_VAL_INT) {
		*equal = a->i == b->i;
		return 0;
	}
	if (a->kind == INV_VAL_FLOAT) {
		*equal = inv_cmp_floats(a->f, b->f, how) == 0;
		return 0;
	}
	m_store(m, a, &x);
	m_store(m, b, &y);
	return m_same(m, x, y, how, equal);
}

/* Sets *equal to whether a clause head with the constant number `a' matches the
 * term t. In a clause head 0.0 does not match -0.0, although =:= may return
 * true. */
static int m_eq_const(struct machine *m, inv_word t, uint32_t a, bool *equal)
{
	inv_word c = m->match->consts[a].t;
	double x, y;

	*equal = t == c;
	if (*equal || !enif_is_identical(t, c))
		return 0;
	*equal = !enif_get_double(m->env, t, &x) ||
		 !enif_get_double(m->env, c, &y) ||
		 inv_cmp_floats(x, y, INV_CMP_EXACT | INV_CMP_ZEROS) == 0;
	return 0;
}

/* Returns the constant number `a' of the program. If the constant is not an
 * immediate term, returns a copy in the environment of the run. */
static struct inv_val m_const(struct machine *m, uint32_t a)
{
	const struct inv_vm_const *c = &m->match->consts[a];

	return c->copy ? inv_val_term(enif_make_copy(m->env, c->t)) : c->v;
}

static int m_args(struct machine *m, struct inv_val *out)
{
	*out = inv_val_term(
		enif_make_list_from_array(m->env, m->args, m->n_args));
	return 0;
}

static int m_list(struct machine *m, const struct inv_val *v, uint32_t n,
		  struct inv_val *out)
{
	inv_word l, head;

	m_store(m, &v[n], &l);
	while (n > 0) {
		m_store(m, &v[--n], &head);
		l = enif_make_list_cell(m->env, head, l);
	}
	*out = m_load(m, l);
	return 0;
}

static int m_make_tuple(struct machine *m, const struct inv_val *top,
			uint32_t n, struct inv_val *out)
{
	for (uint32_t i = 0; i < n; i++)
		m_store(m, top - i, &m->elements[i]);
	*out = inv_val_term(enif_make_tuple_from_array(m->env, m->elements, n));
	return 0;
}

static int m_make_map(struct machine *m, const struct inv_val *top, uint32_t n,
		      struct inv_val *out)
{
	ERL_NIF_TERM map = enif_make_new_map(m->env), key, value;

	for (uint32_t i = n; i > 0; i--) {
		m_store(m, top - (i - 1), &key);
		m_store(m, top - n - (i - 1), &value);
		enif_make_map_put(m->env, map, key, value, &map);
	}
	*out = inv_val_term(map);
	return 0;
}

static int m_big(struct machine *m, enum inv_match_fn fn,
		 const struct inv_val *a, const struct inv_val *b,
		 struct inv_val *out)
{
	(void)m;
	(void)fn;
	(void)a;
	(void)b;
	(void)out;
	return INV_EUNKNOWN;
}

static int m_big_of(struct machine *m, double f, struct inv_val *out)
{
	(void)m;
	(void)f;
	(void)out;
	return INV_EUNKNOWN;
}

static int m_to_float(struct machine *m, inv_word t, double *f)
{
	(void)m;
	(void)t;
	(void)f;
	return INV_EUNKNOWN;
}

static int m_act(struct machine *m, enum inv_match_act act,
		 const struct inv_val *top, uint32_t n, struct inv_val *out)
{
	*out = inv_val_term(m->match->atoms[INV_AM_TRUE]);
	if (act == INV_MACT_RETURN_TRACE)
		m->flags |= INV_MATCH_RETURN_TRACE;
	else if (act == INV_MACT_EXCEPTION_TRACE)
		m->flags |= INV_MATCH_EXCEPTION_TRACE;
	else
		return m->act(m, act, top, n, out);
	return 0;
}

static inv_word m_this_node(struct machine *m)
{
	return m->match->node;
}

static uint32_t m_tcw(struct machine *m)
{
	return m->tcw;
}

#include "match/run_body.inc"

void inv_vm_const_init(struct inv_vm_const *c, ErlNifEnv *env, ERL_NIF_TERM t)
{
	c->t = t;
	c->v = inv_val_term(t);
	c->copy = false;
	if (enif_get_int64(env, t, &c->v.i))
		c->v.kind = INV_VAL_INT;
	else if (enif_get_double(env, t, &c->v.f))
		c->v.kind = INV_VAL_FLOAT;
	else
		c->copy = !enif_is_atom(env, t) && !enif_is_empty_list(env, t);
}

size_t inv_vm_room(const struct inv_match_prog *p)
{
	return p->n_stack * (sizeof(struct inv_val) + sizeof(ERL_NIF_TERM)) +
	       p->n_vars * sizeof(ERL_NIF_TERM);
}

void inv_vm_use(struct inv_vm_run *r, const struct inv_match_prog *p,
		void *room)
{
	r->stack = room;
	r->vars = (ERL_NIF_TERM *)(r->stack + p->n_stack);
	r->elements = r->vars + p->n_vars;
}

int inv_vm_match_run(struct inv_vm_run *r, const ERL_NIF_TERM *args,
		     unsigned n_args)
{
	r->prog = r->match->prog;
	r->args = args;
	r->n_args = n_args;
	return run(r->prog, r, args, n_args);
}
