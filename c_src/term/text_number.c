/* SPDX-License-Identifier: Apache-2.0 */
#include "term/text_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LIMBS_MAX (INV_TREE_BIG_MAX / 8)

struct number {
	uint64_t limbs[LIMBS_MAX + 1];
	size_t n;
};

/* Computes x = x * base + d. Returns false if the result is too large. */
static bool add_digit(struct number *x, unsigned base, unsigned d)
{
	unsigned __int128 carry = d;

	for (size_t i = 0; i < x->n; i++) {
		carry += (unsigned __int128)x->limbs[i] * base;
		x->limbs[i] = (uint64_t)carry;
		carry >>= 64;
	}
	if (carry)
		x->limbs[x->n++] = (uint64_t)carry;
	return x->n <= LIMBS_MAX;
}

static bool digits(struct inv_text *s, struct number *x, unsigned base)
{
	const uint8_t *from = s->p;

	x->n = 0;
	for (; s->p < s->end; s->p++) {
		if (*s->p == '_' && s->p > from && s->p + 1 < s->end &&
		    inv__text_digit(s->p[1]) < base)
			continue;
		if (inv__text_digit(*s->p) >= base)
			break;
		if (!add_digit(x, base, inv__text_digit(*s->p)))
			return inv__text_too_big(s);
	}
	if (s->p == from)
		inv__text_fail_at(s, from, "a digit expected");
	return s->p > from;
}

bool inv__text_u64(struct inv_text *s, uint64_t *v)
{
	struct number x;

	if (!digits(s, &x, 10) || x.n > 1)
		return false;
	*v = x.n > 0 ? x.limbs[0] : 0;
	return true;
}

/* The character before p is a digit. Returns true if the character at p is a
 * digit, or an underscore and then a digit. */
static bool is_in_digits(const struct inv_text *s, const uint8_t *p)
{
	if (p < s->end && *p == '_')
		p++;
	return p < s->end && inv__text_is_digit(*p);
}

/*
 * Makes a float from the text at `from': digits, a point, digits, and possibly
 * an exponent. Passes it to strtod without the decimal point, because strtod
 * expects the decimal point of the locale.
 */
static inv_word make_float(struct inv_text *s, bool negative,
			   const uint8_t *from)
{
	char text[400];
	size_t n = 0;
	long exponent = 0;
	double f;

	for (s->p = from; is_in_digits(s, s->p); s->p++)
		if (n < 350 && *s->p != '_')
			text[n++] = (char)*s->p;
	for (s->p++; is_in_digits(s, s->p); s->p++)
		if (n < 350 && *s->p != '_') {
			text[n++] = (char)*s->p;
			exponent--;
		}
	if (s->p + 1 < s->end && (*s->p | 0x20) == 'e') {
		const uint8_t *e = s->p + 1;
		long by = 0, sign = *e == '-' ? -1 : 1;

		e += *e == '-' || *e == '+';
		if (e < s->end && inv__text_is_digit(*e)) {
			for (; is_in_digits(s, e); e++)
				if (*e != '_' && by < 10000)
					by = 10 * by + (*e - '0');
			exponent += sign * by;
			s->p = e;
		}
	}
	snprintf(text + n, sizeof(text) - n, "e%ld", exponent);
	f = strtod(text, NULL);
	if (!isfinite(f))
		return inv__text_fail_at(s, from, "the float is too large");
	return inv__text_made(s, inv_make_float(s->h, negative ? -f : f));
}

static inv_word make_int(struct inv_text *s, bool negative, struct number *x)
{
	return inv__text_made(s, inv_make_big(s->h, negative, x->limbs, x->n));
}

inv_word inv__text_number(struct inv_text *s, bool negative)
{
	const uint8_t *from = s->p;
	struct number x;

	if (!digits(s, &x, 10))
		return 0;
	if (s->end - s->p > 1 && *s->p == '.' && inv__text_is_digit(s->p[1]))
		return make_float(s, negative, from);
	if (s->p < s->end && *s->p == '#') {
		if (x.n != 1 || x.limbs[0] < 2 || x.limbs[0] > 36)
			return inv__text_fail_at(s, from, "a base is 2 to 36");
		s->p++;
		if (!digits(s, &x, (unsigned)x.limbs[0]))
			return 0;
	}
	return make_int(s, negative, &x);
}

static inv_word dollar(struct inv_text *s, bool negative)
{
	int64_t c;

	s->p++;
	c = inv__text_char(s);
	return s->rc ? 0 :
		       inv__text_made(s, inv_make_int(s->h, negative ? -c : c));
}

inv_word inv__text_signed(struct inv_text *s)
{
	bool negative = inv_text_take(s, "-");

	if (!negative)
		inv_text_take(s, "+");
	inv__text_skip(s);
	if (s->p < s->end && *s->p == '$')
		return dollar(s, negative);
	if (s->p == s->end || !inv__text_is_digit(*s->p))
		return inv__text_fail_at(s, s->p, "a number expected");
	return inv__text_number(s, negative);
}
