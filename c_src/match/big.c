/* SPDX-License-Identifier: Apache-2.0 */
#include "match/big.h"

#include <gmp.h>
#include <math.h>

_Static_assert(GMP_NUMB_BITS == 64 && sizeof(mp_limb_t) == sizeof(inv_word),
	       "limbs are words");

#define LIMBS_MAX (INV_TREE_BIG_MAX / 8)

/*
 * Sets z to a read-only GMP integer with the value of `v'. If `v' is of kind
 * INT, z points to *limb, in which the value is stored; otherwise z points to
 * the limbs of `v'.
 */
static void view(mpz_t z, const struct inv_val *v, mp_limb_t *limb)
{
	const inv_word *b;

	if (v->kind == INV_VAL_INT) {
		*limb = v->i < 0 ? -(mp_limb_t)v->i : (mp_limb_t)v->i;
		mpz_roinit_n(z, limb, v->i < 0 ? -1 : v->i > 0);
		return;
	}
	b = inv_box(v->t);
	mpz_roinit_n(z, (const mp_limb_t *)(b + 1),
		     inv_box_has(b, INV_BOX_NEGATIVE) ?
			     -(mp_size_t)inv_box_n(b) :
			     (mp_size_t)inv_box_n(b));
}

static int result(const mpz_t z, struct inv_heap *h, struct inv_val *out)
{
	inv_word t;

	if (mpz_size(z) > LIMBS_MAX)
		return INV_ETOOBIG;
	t = inv_make_big(h, mpz_sgn(z) < 0, (const uint64_t *)mpz_limbs_read(z),
			 mpz_size(z));
	if (!t)
		return INV_ETOOBIG;
	*out = inv_val_term(t);
	if (inv_word_i64(t, &out->i))
		out->kind = INV_VAL_INT;
	return 0;
}

/*
 * Shifts `x' by `by' bits to the left, or to the right if `by' is negative. If
 * `by' exceeds the maximum size of an integer, returns INV_ETOOBIG and does not
 * calculate.
 */
static int shift(mpz_t z, const mpz_t x, int64_t by)
{
	if (by <= 0) {
		mpz_fdiv_q_2exp(z, x,
				by < -8 * (int64_t)INV_TREE_BIG_MAX ?
					8 * (mp_bitcnt_t)INV_TREE_BIG_MAX :
					(mp_bitcnt_t)-by);
		return 0;
	}
	if (by > 8 * (int64_t)INV_TREE_BIG_MAX)
		return INV_ETOOBIG;
	mpz_mul_2exp(z, x, (mp_bitcnt_t)by);
	return 0;
}

static int calculate(enum inv_match_fn fn, mpz_t z, const mpz_t x,
		     const mpz_t y, int64_t by)
{
	static void (*const does[INV_MF_COUNT])(mpz_ptr, mpz_srcptr,
						mpz_srcptr) = {
		[INV_MF_PLUS] = mpz_add,   [INV_MF_MINUS] = mpz_sub,
		[INV_MF_TIMES] = mpz_mul,  [INV_MF_DIV] = mpz_tdiv_q,
		[INV_MF_REM] = mpz_tdiv_r, [INV_MF_BAND] = mpz_and,
		[INV_MF_BOR] = mpz_ior,	   [INV_MF_BXOR] = mpz_xor,
	};

	if (!does[fn])
		return shift(z, x, by);
	does[fn](z, x, y);
	return 0;
}

int inv_big_arith(enum inv_match_fn fn, const struct inv_val *a,
		  const struct inv_val *b, struct inv_heap *h,
		  struct inv_val *out)
{
	mp_limb_t limbs[2];
	mpz_t x, y, z;
	int rc;

	view(x, a, &limbs[0]);
	view(y, b, &limbs[1]);
	mpz_init(z);
	rc = calculate(fn, z, x, y, b->kind == INV_VAL_INT ? b->i : 0);
	if (!rc)
		rc = result(z, h, out);
	mpz_clear(z);
	return rc;
}

/* --- to a float ----------------------------------------------------------- */

static double by_digits(const inv_word *limbs, size_t n)
{
	double f = 0;

	while (n-- > 0)
		f = f * 18446744073709551616.0 + (double)limbs[n];
	return f;
}

/*
 * Returns the upper 64 bits of a big integer, and sets *below to the number of
 * the lower bits, which are left out. If a bit that is left out is 1, sets bit
 * 0 of the result, so that the result is later rounded in the right direction.
 */
static uint64_t upper(const inv_word *limbs, size_t n, size_t *below)
{
	unsigned shift = (unsigned)__builtin_clzll(limbs[n - 1]);
	uint64_t top = limbs[n - 1] << shift, rest;

	rest = limbs[n - 2];
	if (shift) {
		top |= rest >> (64 - shift);
		rest <<= shift;
	}
	for (size_t i = 0; i + 2 < n; i++)
		rest |= limbs[i];
	*below = 64 * (n - 1) - shift;
	return top | (rest != 0);
}

int inv_big_to_float(const inv_word *big, bool nearest, double *f)
{
	size_t n = inv_box_n(big), below;
	uint64_t top;

	if (!nearest || n == 1) {
		*f = by_digits(big + 1, n);
	} else {
		top = upper(big + 1, n, &below);
		*f = ldexp((double)top, (int)below);
	}
	if (!isfinite(*f))
		return INV_EXCEPTION;
	if (inv_box_has(big, INV_BOX_NEGATIVE))
		*f = -*f;
	return 0;
}
