/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "term/print_int.h"

/*
 * Prints floats as Erlang does: the shortest decimal number that reads back as
 * the same float. If several are equally short, the one nearest to the float is
 * printed. Of the notations 0.00123 and 1.23e-3, the shorter one is used.
 */

/* The number d.ddd * 10^exponent, whose n digits have no trailing zeros. */
struct decimal {
	uint8_t digits[20];
	int n;
	int exponent;
};

#define TWO_53 9007199254740992.0

static void strip_zeros(struct decimal *d)
{
	while (d->n > 1 && d->digits[d->n - 1] == '0')
		d->n--;
}

/*
 * A fast way to find the decimal number for a float with few digits:
 * f = m / 10^k. The integer m has at most 15 digits, and k is at most 10.
 * Returns false if f is not equal to such a quotient.
 *
 * Doubles represent m and 10^k exactly, and division rounds correctly. So if
 * m / 10^k equals f, the text "m e-k" reads back as f. No shorter text reads
 * back as f, because two different decimal numbers of at most 15 digits never
 * read back as the same normal double.
 */
static bool small_decimal(double f, struct decimal *d)
{
	static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5,
				       1e6, 1e7, 1e8, 1e9, 1e10 };
	unsigned k;

	for (k = 0; k < sizeof(tens) / sizeof(tens[0]); k++) {
		double m = rint(f * tens[k]);

		if (m >= (k == 0 ? TWO_53 : 1e15))
			return false;
		if (m < 1 || m / tens[k] != f)
			continue;
		d->n = (int)(inv_decimal_u64(d->digits, (uint64_t)m) -
			     d->digits);
		d->exponent = d->n - 1 - (int)k;
		strip_zeros(d);
		return true;
	}
	return false;
}

/* Returns true if the digits read back as f. The text for strtod has no decimal
 * point, because strtod expects the decimal point of the locale. */
static bool reads_back(const struct decimal *d, double f)
{
	char text[40];

	snprintf(text, sizeof(text), "%.*se%d", d->n, (const char *)d->digits,
		 d->exponent - (d->n - 1));
	return strtod(text, NULL) == f;
}

/* Sets *d to the decimal number of n digits that is nearest to f. */
static void nearest(double f, int n, struct decimal *d)
{
	char text[40];
	const char *p = text;
	const char *e;

	snprintf(text, sizeof(text), "%.*e", n - 1, f);
	e = strchr(text, 'e');
	d->n = 0;
	for (; p < e; p++)
		if (*p >= '0' && *p <= '9')
			d->digits[d->n++] = (uint8_t)*p;
	d->exponent = 0;
	for (p = e + 2; *p; p++)
		d->exponent = 10 * d->exponent + (*p - '0');
	if (e[1] == '-')
		d->exponent = -d->exponent;
}

/* Adds 1 to the last digit, with carry. */
static void next_up(struct decimal *d)
{
	int i = d->n - 1;

	while (i >= 0 && d->digits[i] == '9')
		d->digits[i--] = '0';
	if (i >= 0) {
		d->digits[i]++;
	} else {
		d->digits[0] = '1';
		d->exponent++;
	}
}

static void shortest(double f, struct decimal *d)
{
	uint64_t bits;
	bool power;
	int n;

	memcpy(&bits, &f, sizeof(bits));
	/* The float below a power of two is only half as far away as the float
	 * above it. So if f is a power of two, and the decimal number nearest
	 * to f is below f, this number may read back as the float below f. The
	 * next higher decimal number can still read back as f. So for a power
	 * of two the loop tries both numbers. */
	power = (bits & ((UINT64_C(1) << 52) - 1)) == 0;
	/* For normal floats the loop starts with 15 digits. If fewer digits are
	 * enough, the nearest number of 15 digits ends with zeros, which are
	 * removed at the end. */
	for (n = f < 2.2250738585072014e-308 ? 1 : 15; n < 17; n++) {
		struct decimal up;

		nearest(f, n, d);
		if (reads_back(d, f)) {
			strip_zeros(d);
			return;
		}
		if (!power)
			continue;
		up = *d;
		next_up(&up);
		if (reads_back(&up, f)) {
			*d = up;
			strip_zeros(d);
			return;
		}
	}
	nearest(f, 17, d);
	strip_zeros(d);
}

static uint8_t *put_scientific(uint8_t *w, const struct decimal *d)
{
	*w++ = d->digits[0];
	*w++ = '.';
	if (d->n == 1) {
		*w++ = '0';
	} else {
		memcpy(w, d->digits + 1, (size_t)d->n - 1);
		w += d->n - 1;
	}
	*w++ = 'e';
	return inv_decimal_i64(w, d->exponent);
}

static uint8_t *put_zeros(uint8_t *w, int n)
{
	while (n-- > 0)
		*w++ = '0';
	return w;
}

static uint8_t *put_fixed(uint8_t *w, const struct decimal *d)
{
	int whole = d->exponent + 1; /* digits before the decimal point */

	if (whole <= 0) {
		*w++ = '0';
		*w++ = '.';
		w = put_zeros(w, -whole);
		memcpy(w, d->digits, (size_t)d->n);
		return w + d->n;
	}
	if (whole >= d->n) {
		memcpy(w, d->digits, (size_t)d->n);
		w = put_zeros(w + d->n, whole - d->n);
		*w++ = '.';
		*w++ = '0';
		return w;
	}
	memcpy(w, d->digits, (size_t)whole);
	w += whole;
	*w++ = '.';
	memcpy(w, d->digits + whole, (size_t)(d->n - whole));
	return w + (d->n - whole);
}

static int scientific_len(const struct decimal *d)
{
	int e = abs(d->exponent);

	return (d->n == 1 ? 3 : d->n + 1) + 1 + (d->exponent < 0) +
	       (e >= 100 ? 3 :
		e >= 10	 ? 2 :
			   1);
}

static int fixed_len(const struct decimal *d)
{
	int whole = d->exponent + 1;

	if (whole <= 0)
		return 2 - whole + d->n;
	return whole >= d->n ? whole + 2 : d->n + 1;
}

void inv_term_print_float(double f, struct inv_buf *out)
{
	uint8_t *w = inv_buf_reserve(out, 64);
	struct decimal d;

	if (!w)
		return;
	if (signbit(f)) {
		*w++ = '-';
		f = -f;
	}
	if (f == 0) {
		memcpy(w, "0.0", 3);
		w += 3;
	} else {
		if (!small_decimal(f, &d))
			shortest(f, &d);
		if (f < TWO_53 && fixed_len(&d) <= scientific_len(&d))
			w = put_fixed(w, &d);
		else
			w = put_scientific(w, &d);
	}
	out->len = (size_t)(w - out->data);
}

/* --- big integers --------------------------------------------------------- */

#define LIMB_BYTES 4
#define LIMBS_MAX (INV_BIG_PRINT_MAX / LIMB_BYTES)
#define BILLION 1000000000u

/* Divides the integer in n limbs, the least significant limb first, by a
 * billion. Returns the remainder. */
static uint32_t divide(uint32_t *limbs, size_t n)
{
	uint64_t rest = 0;

	while (n-- > 0) {
		rest = rest << 32 | limbs[n];
		limbs[n] = (uint32_t)(rest / BILLION);
		rest %= BILLION;
	}
	return (uint32_t)rest;
}

static size_t load_limbs(uint32_t *limbs, const uint8_t *p, size_t len)
{
	size_t n = (len + LIMB_BYTES - 1) / LIMB_BYTES;
	size_t i;

	memset(limbs, 0, n * LIMB_BYTES);
	for (i = 0; i < len; i++)
		limbs[i / LIMB_BYTES] |= (uint32_t)p[i] << 8 * (i % LIMB_BYTES);
	return n;
}

void inv__print_big(const struct inv_token *tok, struct inv_buf *out)
{
	uint32_t limbs[LIMBS_MAX];
	size_t len = tok->len, n, room;
	uint8_t *w, *p;

	while (len > 0 && tok->bytes[len - 1] == 0)
		len--;
	if (len > INV_BIG_PRINT_MAX) {
		inv__print_cut(INV_CUT_INT, len, out);
		return;
	}
	if (tok->negative && len > 0)
		inv_buf_putc(out, '-');
	/* A byte of the integer takes less than 2.41 decimal digits. Space is
	 * reserved for ten more, because digits are written in groups of
	 * nine. */
	room = len * 241 / 100 + 10;
	w = inv_buf_reserve(out, room);
	if (!w)
		return;
	p = w + room;
	n = load_limbs(limbs, tok->bytes, len);
	while (n > 0) {
		uint32_t nine = divide(limbs, n);
		int i;

		while (n > 0 && limbs[n - 1] == 0)
			n--;
		for (i = 0; i < 9 && (n > 0 || nine > 0); i++, nine /= 10)
			*--p = (uint8_t)('0' + nine % 10);
	}
	if (len == 0)
		*--p = '0';
	n = (size_t)(w + room - p);
	memmove(w, p, n);
	inv_buf_commit(out, n);
}
