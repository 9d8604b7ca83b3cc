/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "term/tree_number.h"

/* The types, in Erlang's order of terms. */
enum rank {
	RANK_NUMBER,
	RANK_ATOM,
	RANK_REF,
	RANK_FUN,
	RANK_PORT,
	RANK_PID,
	RANK_TUPLE,
	RANK_MAP,
	RANK_NIL,
	RANK_LIST,
	RANK_BITS,
	RANK_UNKNOWN,
};

/* The elements of two containers that are still to be compared. */
struct pending {
	const inv_word *a;
	const inv_word *b;
	uint64_t left;
	uint8_t stride;
	uint8_t how;
};

struct compare {
	bool eq_only; /* only equality is wanted: functions may set *r to any
			 number except 0 if the terms differ */
	uint8_t how;  /* flags of enum inv_cmp for the terms that are compared
		       * at the moment */
	uint32_t depth;
	struct pending stack[INV_TREE_DEPTH];
};

static enum rank hole_rank(const inv_word *b)
{
	switch (inv_box_n(b)) {
	case INV_CUT_TUPLE:
		return RANK_TUPLE;
	case INV_CUT_MAP:
		return RANK_MAP;
	case INV_CUT_LIST:
	case INV_CUT_LIST_MIN:
		return RANK_LIST;
	case INV_CUT_BINARY:
	case INV_CUT_BITS:
		return RANK_BITS;
	case INV_CUT_INT:
		return RANK_NUMBER;
	default:
		return RANK_UNKNOWN;
	}
}

static enum rank box_rank(const inv_word *b)
{
	switch (inv_box_kind(b)) {
	case INV_BOX_ATOM:
		return RANK_ATOM;
	case INV_BOX_TUPLE:
		return RANK_TUPLE;
	case INV_BOX_MAP:
		return RANK_MAP;
	case INV_BOX_BITS:
		return RANK_BITS;
	case INV_BOX_PID:
		return RANK_PID;
	case INV_BOX_PORT:
		return RANK_PORT;
	case INV_BOX_REF:
		return RANK_REF;
	case INV_BOX_EXPORT:
	case INV_BOX_FUN:
	case INV_BOX_TEXT:
		return RANK_FUN;
	case INV_BOX_HOLE:
		return hole_rank(b);
	default:
		return RANK_NUMBER;
	}
}

static enum rank rank_of(inv_word t)
{
	if (inv_is_box(t))
		return box_rank(inv_box(t));
	if (inv_is_small(t))
		return RANK_NUMBER;
	return inv_is_cons(t) ? RANK_LIST : RANK_NIL;
}

static bool is_hole(inv_word t)
{
	return inv_box_of(t, INV_BOX_HOLE) != NULL;
}

static int sign_of(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* --- numbers -------------------------------------------------------------- */

size_t inv_float_limbs(double f, uint64_t limbs[INV_FLOAT_LIMBS])
{
	uint64_t mantissa;
	int exponent;
	size_t n;

	f = frexp(fabs(f), &exponent);
	mantissa = (uint64_t)ldexp(f, 53);
	exponent -= 53;
	memset(limbs, 0, INV_FLOAT_LIMBS * sizeof(*limbs));
	if (exponent <= 0) {
		limbs[0] = exponent > -64 ? mantissa >> -exponent : 0;
		return 1;
	}
	n = (size_t)exponent / 64;
	limbs[n] = mantissa << exponent % 64;
	if (exponent % 64)
		limbs[n + 1] = mantissa >> (64 - exponent % 64);
	return n + 2;
}

static int cmp_limbs(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
	while (na > 0 && a[na - 1] == 0)
		na--;
	while (nb > 0 && b[nb - 1] == 0)
		nb--;
	if (na != nb)
		return na < nb ? -1 : 1;
	while (na-- > 0)
		if (a[na] != b[na])
			return a[na] < b[na] ? -1 : 1;
	return 0;
}

static int cmp_bigs(const inv_word *a, const inv_word *b)
{
	bool minus = inv_box_has(a, INV_BOX_NEGATIVE);
	int r;

	if (minus != inv_box_has(b, INV_BOX_NEGATIVE))
		return minus ? -1 : 1;
	r = cmp_limbs(a + 1, inv_box_n(a), b + 1, inv_box_n(b));
	return minus ? -r : r;
}

static int cmp_big_float(const inv_word *a, double f)
{
	bool minus = inv_box_has(a, INV_BOX_NEGATIVE);
	uint64_t limbs[INV_FLOAT_LIMBS];
	size_t n;
	int r;

	if (minus != (f < 0))
		return minus ? -1 : 1;
	if (fabs(f) < 9007199254740992.0)
		return minus ? -1 : 1;
	n = inv_float_limbs(f, limbs);
	r = cmp_limbs(a + 1, inv_box_n(a), limbs, n);
	return minus ? -r : r;
}

int inv_cmp_int_float(int64_t i, double f)
{
	int64_t whole;

	if (f >= 9223372036854775808.0)
		return -1;
	if (f < -9223372036854775808.0)
		return 1;
	whole = (int64_t)f;
	if (i != whole)
		return i < whole ? -1 : 1;
	f -= (double)whole;
	return (f < 0) - (f > 0);
}

int inv_cmp_floats(double a, double b, unsigned how)
{
	unsigned distinct = INV_CMP_EXACT | INV_CMP_ZEROS;

	if (a == b && (how & distinct) == distinct)
		return !!signbit(b) - !!signbit(a);
	return (a > b) - (a < b);
}

static int cmp_numbers(inv_word a, inv_word b, unsigned how)
{
	struct inv_number x = inv_number(a), y = inv_number(b);
	bool mixed = (x.kind == INV_NUMBER_FLOAT) !=
		     (y.kind == INV_NUMBER_FLOAT);

	if (mixed && (how & INV_CMP_EXACT))
		return x.kind == INV_NUMBER_FLOAT ? 1 : -1;
	if (x.kind == INV_NUMBER_INT && y.kind == INV_NUMBER_INT)
		return (x.i > y.i) - (x.i < y.i);
	if (x.kind == INV_NUMBER_FLOAT && y.kind == INV_NUMBER_FLOAT)
		return inv_cmp_floats(x.f, y.f, how);
	if (x.kind == INV_NUMBER_BIG && y.kind == INV_NUMBER_BIG)
		return cmp_bigs(x.big, y.big);
	if (x.kind == INV_NUMBER_BIG)
		return y.kind == INV_NUMBER_FLOAT ?
			       cmp_big_float(x.big, y.f) :
			       (inv_box_has(x.big, INV_BOX_NEGATIVE) ? -1 : 1);
	if (y.kind == INV_NUMBER_BIG)
		return -cmp_numbers(b, a, how);
	if (x.kind == INV_NUMBER_INT)
		return inv_cmp_int_float(x.i, y.f);
	return -inv_cmp_int_float(y.i, x.f);
}

/* --- atoms and binaries --------------------------------------------------- */

static int cmp_bytes(const void *a, size_t na, const void *b, size_t nb)
{
	size_t n = na < nb ? na : nb;
	int r = n > 0 ? memcmp(a, b, n) : 0;

	return r ? r : sign_of(na, nb);
}

static int cmp_atoms(const inv_word *a, const inv_word *b)
{
	return cmp_bytes(inv_box_ptr(a, 1), inv_box_n(a), inv_box_ptr(b, 1),
			 inv_box_n(b));
}

/* Returns the n bits from `bit' on, as the most significant bits of a byte. n
 * is at most 8. */
static uint8_t bits_at(const inv_word *b, uint64_t bit, unsigned n)
{
	const uint8_t *p = inv_box_ptr(b, 1);
	uint64_t at = b[2] + bit;
	unsigned shift = at % 8, v;

	p += at / 8;
	v = (unsigned)p[0] << shift;
	if (shift + n > 8)
		v |= (unsigned)p[1] >> (8 - shift);
	return (uint8_t)(v & (0xff00u >> n));
}

static int cmp_bits(const inv_word *a, const inv_word *b, bool eq_only)
{
	uint64_t na = inv_box_n(a), nb = inv_box_n(b);
	uint64_t n = na < nb ? na : nb, bit = 0;

	if (eq_only && na != nb)
		return 1;
	if (a[2] == 0 && b[2] == 0) {
		int r = n >= 8 ? memcmp(inv_box_ptr(a, 1), inv_box_ptr(b, 1),
					n / 8) :
				 0;

		if (r)
			return r;
		bit = n & ~UINT64_C(7);
	}
	for (; bit < n; bit += 8) {
		unsigned k = n - bit < 8 ? (unsigned)(n - bit) : 8;
		int r = bits_at(a, bit, k) - bits_at(b, bit, k);

		if (r)
			return r;
	}
	return sign_of(na, nb);
}

/* --- pids, ports, references ---------------------------------------------- */

/* Compares the nodes of two pids, ports or references. Returns INV_EUNKNOWN if
 * the nodes differ, but their order is unknown. */
static int cmp_nodes(const inv_word *a, const inv_word *b, int *r)
{
	bool local_a = a[1] == 0 && a[3] == 0, local_b = b[1] == 0 && b[3] == 0;

	*r = a[4] && b[4] ? sign_of(a[4], b[4]) : 0;
	if (local_a && local_b)
		return 0;
	if (local_a == local_b && a[3] == b[3] && a[3] > 0 &&
	    !memcmp(inv_box_ptr(a, 2), inv_box_ptr(b, 2), a[3]))
		return 0;
	*r = 1;
	if (local_a != local_b)
		return INV_EUNKNOWN;
	if (a[3] > 0 && b[3] > 0) {
		*r = cmp_bytes(inv_box_ptr(a, 2), a[3], inv_box_ptr(b, 2),
			       b[3]);
		return 0;
	}
	*r = a[1] != b[1];
	return *r ? INV_EUNKNOWN : 0;
}

static int cmp_ids(const inv_word *a, const inv_word *b, int *r)
{
	size_t na = inv_box_n(a), nb = inv_box_n(b), n = na > nb ? na : nb, i;

	for (i = 0; i < n; i++) {
		uint64_t x = i < n - na ? 0 : a[5 + i - (n - na)];
		uint64_t y = i < n - nb ? 0 : b[5 + i - (n - nb)];

		if (x != y) {
			*r = x < y ? -1 : 1;
			return 0;
		}
	}
	*r = 0;
	return 0;
}

/* Compares two pids first by serial, then by number, then by node. Compares two
 * ports or two references first by node, then by number. */
static int cmp_containers(const struct compare *c, const inv_word *a,
			  const inv_word *b, int *r)
{
	bool pid = inv_box_kind(a) == INV_BOX_PID;
	int nodes, rc = cmp_nodes(a, b, &nodes);

	if (c->eq_only) {
		cmp_ids(a, b, r);
		*r |= nodes;
		return 0;
	}
	if (!pid && (rc || nodes)) {
		*r = nodes;
		return rc;
	}
	if (pid && a[6] != b[6])
		*r = sign_of(a[6], b[6]);
	else
		cmp_ids(a, b, r);
	if (*r)
		return 0;
	*r = nodes;
	return rc;
}

/* --- funs ----------------------------------------------------------------- */

static int cmp_local_funs(const struct compare *c, const inv_word *a,
			  const inv_word *b, int *r)
{
	if (a[4] && b[4] && a[5] == b[5] &&
	    !memcmp(inv_box_ptr(a, 4), inv_box_ptr(b, 4), a[5])) {
		*r = 0;
		return 0;
	}
	*r = cmp_atoms(inv_box(a[1]), inv_box(b[1]));
	if (*r)
		return 0;
	*r = c->eq_only && (a[2] != b[2] || a[3] != b[3]);
	return *r ? 0 : INV_EUNKNOWN;
}

static int cmp_exports(const inv_word *a, const inv_word *b)
{
	int r = cmp_atoms(inv_box(a[1]), inv_box(b[1]));

	if (!r)
		r = cmp_atoms(inv_box(a[2]), inv_box(b[2]));
	return r ? r : sign_of(inv_box_n(a), inv_box_n(b));
}

static int cmp_funs(const struct compare *c, const inv_word *a,
		    const inv_word *b, int *r)
{
	unsigned x = inv_box_kind(a), y = inv_box_kind(b);

	if (x == INV_BOX_EXPORT && y == INV_BOX_EXPORT) {
		*r = cmp_exports(a, b);
		return 0;
	}
	if (x == INV_BOX_EXPORT || y == INV_BOX_EXPORT) {
		*r = x == INV_BOX_EXPORT ? 1 : -1;
		return 0;
	}
	if (x == INV_BOX_FUN && y == INV_BOX_FUN)
		return cmp_local_funs(c, a, b, r);
	/* At least one of the two funs is known only by the VM's text. If both
	 * are known only by their texts, and the texts differ, the funs differ.
	 * In all other cases the result is unknown. */
	*r = c->eq_only && x == y && cmp_atoms(a, b);
	return *r ? 0 : INV_EUNKNOWN;
}

/* --- all types ------------------------------------------------------------ */

static int push(struct compare *c, const inv_word *a, const inv_word *b,
		uint64_t n, unsigned stride)
{
	if (n == 0)
		return 0;
	if (c->depth == INV_TREE_DEPTH)
		return INV_EDEPTH;
	c->stack[c->depth++] = (struct pending){ .a = a,
						 .b = b,
						 .left = n,
						 .stride = (uint8_t)stride,
						 .how = c->how };
	return 0;
}

static int cmp_tuples(struct compare *c, const inv_word *a, const inv_word *b,
		      int *r)
{
	*r = sign_of(inv_box_n(a), inv_box_n(b));
	return *r ? 0 : push(c, a + 1, b + 1, inv_box_n(a), 1);
}

/* Compares two maps: first their sizes, then all keys with INV_CMP_EXACT, then
 * all values. */
static int cmp_maps(struct compare *c, const inv_word *a, const inv_word *b,
		    int *r)
{
	uint8_t how = c->how;
	int rc;

	if (inv_box_has(a, INV_BOX_PARTIAL) || inv_box_has(b, INV_BOX_PARTIAL))
		return INV_EUNKNOWN;
	*r = sign_of(inv_box_n(a), inv_box_n(b));
	if (*r)
		return 0;
	rc = push(c, a + 2, b + 2, inv_box_n(a), 2);
	c->how |= INV_CMP_EXACT;
	if (!rc)
		rc = push(c, a + 1, b + 1, inv_box_n(a), 2);
	c->how = how;
	return rc;
}

static int cmp_lists(struct compare *c, inv_word a, inv_word b)
{
	int rc = push(c, inv_cons(a) + 1, inv_cons(b) + 1, 1, 1);

	return rc ? rc : push(c, inv_cons(a), inv_cons(b), 1, 1);
}

static int cmp_same_type(struct compare *c, enum rank rank, inv_word a,
			 inv_word b, int *r)
{
	switch (rank) {
	case RANK_NUMBER:
		*r = cmp_numbers(a, b, c->how);
		return 0;
	case RANK_ATOM:
		*r = cmp_atoms(inv_box(a), inv_box(b));
		return 0;
	case RANK_REF:
	case RANK_PORT:
	case RANK_PID:
		return cmp_containers(c, inv_box(a), inv_box(b), r);
	case RANK_FUN:
		return cmp_funs(c, inv_box(a), inv_box(b), r);
	case RANK_TUPLE:
		return cmp_tuples(c, inv_box(a), inv_box(b), r);
	case RANK_MAP:
		return cmp_maps(c, inv_box(a), inv_box(b), r);
	case RANK_LIST:
		return cmp_lists(c, a, b);
	case RANK_BITS:
		*r = cmp_bits(inv_box(a), inv_box(b), c->eq_only);
		return 0;
	default: /* NIL */
		return 0;
	}
}

static int cmp_words(struct compare *c, inv_word a, inv_word b, int *r)
{
	enum rank x, y;

	*r = 0;
	if (a == b)
		return 0;
	x = rank_of(a);
	y = rank_of(b);
	if (x == RANK_UNKNOWN || y == RANK_UNKNOWN)
		return INV_EUNKNOWN;
	if (x != y) {
		*r = x < y ? -1 : 1;
		return 0;
	}
	if (is_hole(a) || is_hole(b))
		return INV_EUNKNOWN;
	return cmp_same_type(c, x, a, b, r);
}

static int compare(struct compare *c, uint64_t *steps, int *r)
{
	int rc = 0;

	while (c->depth > 0 && !rc) {
		struct pending *p = &c->stack[c->depth - 1];
		inv_word a = *p->a, b = *p->b;

		if (*steps == 0)
			return INV_ETOOBIG;
		--*steps;
		c->how = p->how;
		p->a += p->stride;
		p->b += p->stride;
		if (--p->left == 0)
			c->depth--;
		rc = cmp_words(c, a, b, r);
		if (!rc && *r)
			return 0;
	}
	return rc;
}

static int begin(inv_word a, inv_word b, unsigned how, bool eq_only,
		 uint64_t *steps, int *r)
{
	struct compare c;
	int rc;

	c.eq_only = eq_only;
	c.how = (uint8_t)how;
	c.depth = 0;
	rc = cmp_words(&c, a, b, r);
	if (rc || *r || c.depth == 0)
		return rc;
	return compare(&c, steps, r);
}

int inv_tree_cmp(inv_word a, inv_word b, unsigned how, uint64_t *steps, int *r)
{
	return begin(a, b, how, false, steps, r);
}

int inv_tree_eq(inv_word a, inv_word b, unsigned how, uint64_t *steps,
		bool *equal)
{
	int r = 0, rc = begin(a, b, how, true, steps, &r);

	*equal = r == 0;
	return rc;
}
