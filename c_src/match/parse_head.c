/* SPDX-License-Identifier: Apache-2.0 */
#include "match/parse_int.h"

/*
 * The largest N of a variable '$N'. (OTP's manual allows only numbers up to a
 * hundred million; the VM accepts larger numbers.)
 */
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

/*
 * Returns the index of the variable '$v' in s->names. If s->names does not have
 * it, returns the index at which to insert it.
 */
static uint32_t place_of(const struct inv_spec *s, int64_t v)
{
	uint32_t from = 0, to = s->n_vars;

	while (from < to) {
		uint32_t i = from + (to - from) / 2;

		if (s->names[i] < v)
			from = i + 1;
		else
			to = i;
	}
	return from;
}

int inv_spec_var(const struct inv_spec *s, inv_word t)
{
	int64_t v = inv_match_variable(t);
	uint32_t i = place_of(s, v);

	return i < s->n_vars && s->names[i] == v ? (int)i : -1;
}

typedef void head_fn(struct inv__parser *p, inv_word t);

/*
 * Calls `fn' for each atom in `t' that can be a variable. These are all atoms
 * except those in keys of maps.
 */
static void each_atom(struct inv__parser *p, inv_word t, head_fn *fn)
{
	const inv_word *b;
	size_t n, i;

	if (p->depth == INV_MATCH_DEPTH) {
		inv__parse_give_up(p, INV_EDEPTH,
				   "the head is nested too deeply");
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

static void add_variable(struct inv__parser *p, int64_t v)
{
	struct inv_spec *s = p->s;
	uint32_t i = place_of(s, v), n = s->n_vars;

	if (i < n && s->names[i] == v)
		return;
	if (n == INV_MATCH_VARS) {
		_Static_assert(INV_MATCH_VARS == 1024, "as the text has it");
		inv__parse_give_up(p, INV_ETOOBIG, "more than 1024 variables");
		return;
	}
	memmove(&s->names[i + 1], &s->names[i], (n - i) * sizeof(*s->names));
	s->names[i] = (uint32_t)v;
	s->n_vars++;
}

static void note_variable(struct inv__parser *p, inv_word t)
{
	int64_t v = inv_match_variable(t);

	if (v >= 0)
		add_variable(p, v);
}

void inv__parse_variables(struct inv__parser *p, inv_word head)
{
	each_atom(p, head, note_variable);
}

static void bind(struct inv__parser *p, inv_word t)
{
	int v = inv_spec_var(p->s, t);

	if (v >= 0)
		p->clause->bound[v / 64] |= UINT64_C(1) << v % 64;
}

/*
 * Checks that no key of a map is a variable.  Reports only the first such key.
 */
static bool check_keys(struct inv__parser *p, inv_word t)
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
			inv__parse_wrong(p, "Variable found in map key.", 0, 0,
					 NULL);
			return false;
		}
		if (inv_word_is(b[1 + 2 * i], "_")) {
			inv__parse_wrong(p, "Underscore found in map key.", 0,
					 0, NULL);
			return false;
		}
	}
	for (i = 0; i < n && ok; i++)
		ok = check_keys(p, b[2 + 2 * i]);
	return ok;
}

/* Copies the elements of the list `t' to c->args, as the patterns of the
 * head. */
static void list_patterns(struct inv__parser *p, struct inv_clause *c,
			  inv_word t)
{
	inv_word *w, l;
	uint32_t n = 0;

	for (l = t; inv_is_cons(l); l = inv_cons(l)[1])
		n++;
	c->n_args = n;
	c->args = w = inv__parse_take(p, n * sizeof(*w) + 8);
	for (l = t; w && inv_is_cons(l); l = inv_cons(l)[1])
		*w++ = inv_cons(l)[0];
}

/* A head may be a tuple of patterns instead of a list. */
bool inv__parse_head(struct inv__parser *p, struct inv_clause *c, inv_word t)
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
	} else if (inv_word_is(t, "_")) {
		c->head = INV_HEAD_ANY;
	} else if (inv_match_variable(t) >= 0) {
		c->head = INV_HEAD_WHOLE;
		list_patterns(p, c, inv_make_cons(p->heap, t, INV_NIL));
		c->n_args = 1;
	} else {
		if (check_keys(p, t))
			inv__parse_wrong(
				p, "Match head is invalid in this context.", 0,
				0, NULL);
		return false;
	}
	for (uint32_t i = 0; i < c->n_args && ok && !p->rc; i++)
		ok = check_keys(p, c->args[i]);
	for (uint32_t i = 0; i < c->n_args && !p->rc; i++)
		each_atom(p, c->args[i], bind);
	return ok && !p->rc;
}
