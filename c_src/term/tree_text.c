/* SPDX-License-Identifier: Apache-2.0 */
#include "term/tree_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "term/chars.h"

/* Characters, not bytes, before that place; from 1. */
static unsigned column(const struct inv_text *s, const uint8_t *at)
{
	unsigned n = 1;

	for (const uint8_t *p = s->begin; p < at; p++)
		n += (*p & 0xc0) != 0x80;
	return n;
}

/* Returns 0, which is no term. */
__attribute__((format(printf, 3, 4))) static inv_word fail_at(
	struct inv_text *s, const uint8_t *at, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	if (s->rc)
		return 0;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	s->rc = inv_err_set(s->err, INV_EINVAL, "character %u: %s",
			    column(s, at), why);
	return 0;
}

static inv_word too_big(struct inv_text *s)
{
	if (!s->rc)
		s->rc = inv_err_set(s->err, INV_ETOOBIG, "the term is too big");
	return 0;
}

/* What a maker made, or the heap was full. */
static inv_word made(struct inv_text *s, inv_word t)
{
	return t ? t : too_big(s);
}

/* --- characters ----------------------------------------------------------- */

static void skip_space(struct inv_text *s)
{
	for (; s->p < s->end; s->p++) {
		if (*s->p == '%')
			while (s->p < s->end && *s->p != '\n')
				s->p++;
		if (s->p == s->end || *s->p > ' ')
			return;
	}
}

static bool at(const struct inv_text *s, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(s->end - s->p) >= n && !memcmp(s->p, text, n);
}

static bool take(struct inv_text *s, const char *text)
{
	skip_space(s);
	if (!at(s, text))
		return false;
	s->p += strlen(text);
	return true;
}

/* Says what was wanted, and what is there. */
static bool need(struct inv_text *s, const char *text, const char *where)
{
	if (take(s, text))
		return true;
	if (s->p == s->end)
		fail_at(s, s->p, "the text ends, but %s needs a '%s'", where,
			text);
	else
		fail_at(s, s->p, "'%s' expected in %s", text, where);
	return false;
}

static bool is_digit(unsigned c)
{
	return c >= '0' && c <= '9';
}

/* INV_CHAR_BAD: no character of a name. */
static uint32_t name_char(const struct inv_text *s, unsigned *n)
{
	uint32_t c;

	if (s->p == s->end)
		return INV_CHAR_BAD;
	c = inv_utf8_get(s->p, s->end, n);
	return c < 256 && (inv_char_classes[c] & INV_CH_NAME) ? c :
								INV_CHAR_BAD;
}

/* The value of a digit in bases up to 36. */
static unsigned digit(unsigned c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 255;
}

/* After "\x". */
static uint32_t hex_char(struct inv_text *s)
{
	bool braces = at(s, "{");
	uint32_t c = 0;
	unsigned n = 0;

	for (s->p += braces; s->p < s->end && digit(*s->p) < 16 &&
			     (braces || n < 2) && c <= 0x10ffff;
	     n++)
		c = c << 4 | digit(*s->p++);
	if (n == 0 || c > 0x10ffff || (braces && !at(s, "}"))) {
		fail_at(s, s->p, "a wrong \\x");
		return 0;
	}
	s->p += braces;
	return c;
}

/* A character between quotes, or after $. */
static uint32_t any_char(struct inv_text *s)
{
	static const char escapes[] = "b\bd\177e\033f\fn\nr\rs t\tv\v";
	const char *e;
	uint32_t c = 0;
	unsigned n;

	if (s->p == s->end) {
		fail_at(s, s->p, "the text ends within quotes");
		return 0;
	}
	c = inv_utf8_get(s->p, s->end, &n);
	if (c == INV_CHAR_BAD) {
		fail_at(s, s->p, "this is no UTF-8");
		return 0;
	}
	s->p += n;
	if (c != '\\')
		return c;
	if (s->p == s->end)
		return any_char(s);
	if (*s->p == 'x') {
		s->p++;
		return hex_char(s);
	}
	if (*s->p == '^' && s->end - s->p > 1) {
		s->p += 2;
		return s->p[-1] & 31;
	}
	for (c = 0, n = 0;
	     n < 3 && s->p < s->end && *s->p >= '0' && *s->p <= '7'; n++)
		c = c << 3 | (*s->p++ - '0');
	if (n > 0)
		return c;
	c = inv_utf8_get(s->p, s->end, &n);
	s->p += n;
	for (e = escapes; *e && c < 128; e += 2)
		if ((uint32_t)*e == c)
			return (uint8_t)e[1];
	return c;
}

/* --- atoms ---------------------------------------------------------------- */

static inv_word make_atom(struct inv_text *s, const uint8_t *name, size_t len,
			  const uint8_t *from)
{
	size_t chars = 0;
	inv_word *w;

	for (size_t i = 0; i < len; i++)
		chars += (name[i] & 0xc0) != 0x80;
	if (chars > INV_ATOM_CHARS)
		return fail_at(s, from,
			       "an atom has no more than 255 characters");
	w = inv_heap_take(s->h, (len + 7) / 8 + 1);
	if (!w)
		return too_big(s);
	memcpy(w, name, len);
	return made(s, inv_make_atom(s->h, w, len));
}

static inv_word quoted_atom(struct inv_text *s)
{
	uint8_t name[4 * INV_ATOM_CHARS + 8], *w = name;
	const uint8_t *from = s->p++;

	while (!s->rc && !at(s, "'")) {
		uint32_t c = any_char(s);

		if (!s->rc)
			w = inv_utf8_put(w, c);
		if (w > name + 4 * INV_ATOM_CHARS)
			return fail_at(s, from,
				       "an atom has no more than 255 "
				       "characters");
	}
	s->p++;
	return s->rc ? 0 : make_atom(s, name, (size_t)(w - name), from);
}

/* A name without quotes; its bytes. */
static size_t plain_name(struct inv_text *s)
{
	const uint8_t *from = s->p;
	unsigned n;

	while (name_char(s, &n) != INV_CHAR_BAD)
		s->p += n;
	return (size_t)(s->p - from);
}

static inv_word name(struct inv_text *s)
{
	const uint8_t *from = s->p;
	size_t n;

	if (s->p < s->end && *s->p == '\'')
		return quoted_atom(s);
	n = plain_name(s);
	if (n == 0 || *from == '_' || (*from >= 'A' && *from <= 'Z') ||
	    is_digit(*from))
		return fail_at(s, from, "an atom expected");
	return make_atom(s, from, n, from);
}

static inv_word fun(struct inv_text *s, const uint8_t *from);

static inv_word plain_atom(struct inv_text *s)
{
	const uint8_t *from = s->p;
	size_t n = plain_name(s);
	inv_word t;

	if (n == 3 && !memcmp(from, "fun", 3))
		return fun(s, from);
	if (*from == '_' && n == 1)
		return make_atom(s, from, n, from);
	if ((*from == '_' || (*from >= 'A' && *from <= 'Z')) && s->variable) {
		t = s->variable(s->arg, s, (const char *)from, n);
		return t ? t : fail_at(s, from, "a variable is too much here");
	}
	if (*from == '_' || (*from >= 'A' && *from <= 'Z'))
		return fail_at(s, from,
			       "'%.*s' is a variable: match specs have '$1', "
			       "'$2', ... for them",
			       (int)n, (const char *)from);
	if (inv_word_reserved(from, n) == 1)
		return fail_at(s, from,
			       "'%.*s' is a reserved word: as an atom it needs "
			       "quotes",
			       (int)n, (const char *)from);
	return make_atom(s, from, n, from);
}

/* --- numbers -------------------------------------------------------------- */

#define LIMBS_MAX (INV_TREE_BIG_MAX / 8)

struct number {
	uint64_t limbs[LIMBS_MAX + 1];
	size_t n;
};

/* x = x * base + d; false when it is too big. */
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
		    digit(s->p[1]) < base)
			continue;
		if (digit(*s->p) >= base)
			break;
		if (!add_digit(x, base, digit(*s->p)))
			return too_big(s);
	}
	if (s->p == from)
		fail_at(s, from, "a digit expected");
	return s->p > from;
}

/*
 * The text is digits, a point, digits, and perhaps an exponent.  Read without
 * the point, which strtod would look for in the locale.
 */
static inv_word make_float(struct inv_text *s, bool negative,
			   const uint8_t *from)
{
	char text[400];
	size_t n = 0;
	long exponent = 0;
	double f;

	for (s->p = from; s->p < s->end && is_digit(*s->p); s->p++)
		if (n < 350)
			text[n++] = (char)*s->p;
	for (s->p++; s->p < s->end && is_digit(*s->p); s->p++)
		if (n < 350) {
			text[n++] = (char)*s->p;
			exponent--;
		}
	if (s->p + 1 < s->end && (*s->p | 0x20) == 'e') {
		const uint8_t *e = s->p + 1;
		long by = 0, sign = *e == '-' ? -1 : 1;

		e += *e == '-' || *e == '+';
		if (e < s->end && is_digit(*e)) {
			for (; e < s->end && is_digit(*e); e++)
				by = by < 10000 ? 10 * by + (*e - '0') : by;
			exponent += sign * by;
			s->p = e;
		}
	}
	snprintf(text + n, sizeof(text) - n, "e%ld", exponent);
	f = strtod(text, NULL);
	if (!isfinite(f))
		return fail_at(s, from, "there is no float that large");
	return made(s, inv_make_float(s->h, negative ? -f : f));
}

static inv_word make_int(struct inv_text *s, bool negative, struct number *x)
{
	return made(s, inv_make_big(s->h, negative, x->limbs, x->n));
}

static inv_word number(struct inv_text *s, bool negative)
{
	const uint8_t *from = s->p;
	struct number x;

	if (!digits(s, &x, 10))
		return 0;
	if (s->end - s->p > 1 && *s->p == '.' && is_digit(s->p[1]))
		return make_float(s, negative, from);
	if (s->p < s->end && *s->p == '#') {
		if (x.n != 1 || x.limbs[0] < 2 || x.limbs[0] > 36)
			return fail_at(s, from, "a base is 2 to 36");
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
	c = any_char(s);
	return s->rc ? 0 : made(s, inv_make_int(s->h, negative ? -c : c));
}

static inv_word signed_number(struct inv_text *s)
{
	bool negative = take(s, "-");

	if (!negative)
		take(s, "+");
	skip_space(s);
	if (s->p < s->end && *s->p == '$')
		return dollar(s, negative);
	if (s->p == s->end || !is_digit(*s->p))
		return fail_at(s, s->p, "a number expected");
	return number(s, negative);
}

/* --- strings and binaries ------------------------------------------------- */

/* Its characters; strings that follow one another are one. */
static inv_word string(struct inv_text *s)
{
	inv_word list = INV_NIL, *tail = &list, *cell;

	while (!s->rc && take(s, "\"")) {
		while (!s->rc && !at(s, "\"")) {
			uint32_t c = any_char(s);

			cell = inv_heap_take(s->h, 2);
			if (!cell)
				return too_big(s);
			*tail = (inv_word)(uintptr_t)cell + 2;
			cell[0] = (inv_word)c << 3 | 1;
			cell[1] = INV_NIL;
			tail = &cell[1];
		}
		s->p++;
	}
	return s->rc ? 0 : list;
}

/* Bits are put at the end of the heap, which takes them when all are there. */
static void put_bits(struct inv_text *s, uint64_t *n, uint64_t v,
		     unsigned width)
{
	uint8_t *bytes = (uint8_t *)(s->h->w + s->h->used);
	uint64_t room = 64 * (uint64_t)(s->h->cap - s->h->used);

	if (*n + width > room) {
		too_big(s);
		return;
	}
	for (unsigned i = 0; i < width; i++, ++*n) {
		unsigned shift = width - 1 - i;
		unsigned bit = shift < 64 ? v >> shift & 1 : 0;

		if (*n % 8 == 0)
			bytes[*n / 8] = 0;
		bytes[*n / 8] |= (uint8_t)(bit << (7 - *n % 8));
	}
}

static void binary_string(struct inv_text *s, uint64_t *n)
{
	const uint8_t *from = s->p++;

	while (!s->rc && !at(s, "\"")) {
		uint32_t c = any_char(s);

		if (c > 255)
			fail_at(s, from,
				"a character above 255: write its bytes");
		put_bits(s, n, c, 8);
	}
	s->p++;
}

/* The numbers of a segment must not lie where the bits are. */
static int64_t segment_number(struct inv_text *s, uint64_t n, size_t used)
{
	const uint8_t *from = s->p;
	int64_t v = 0;
	inv_word t;

	s->h->used = used + (n + 63) / 64;
	t = signed_number(s);
	if (!s->rc && inv_box_of(t, INV_BOX_BIG) &&
	    inv_box_n(inv_box(t)) == 1 &&
	    !inv_box_has(inv_box(t), INV_BOX_NEGATIVE))
		v = (int64_t)inv_box(t)[1];
	else if (!s->rc && !inv_word_i64(t, &v))
		fail_at(s, from,
			"in a binary: integers of up to 64 bits, and strings");
	s->h->used = used;
	return v;
}

static void binary_segment(struct inv_text *s, uint64_t *n, size_t used)
{
	const uint8_t *from = s->p;
	int64_t v, width = 8;

	if (at(s, "\"")) {
		binary_string(s, n);
		return;
	}
	v = segment_number(s, *n, used);
	if (!s->rc && take(s, ":")) {
		width = segment_number(s, *n, used);
		if (!s->rc && (width < 0 || width > 64))
			fail_at(s, from, "a size is 0 to 64");
	}
	if (!s->rc && (at(s, "/") || at(s, "*")))
		fail_at(s, s->p, "types of segments are not supported");
	if (!s->rc)
		put_bits(s, n, (uint64_t)v, (unsigned)width);
}

static inv_word binary(struct inv_text *s)
{
	size_t used = s->h->used;
	const uint8_t *bytes;
	uint64_t n = 0;

	s->p += 2;
	if (!take(s, ">>")) {
		do {
			skip_space(s);
			binary_segment(s, &n, used);
		} while (!s->rc && take(s, ","));
		if (s->rc || !need(s, ">>", "a binary"))
			return 0;
	}
	bytes = (const uint8_t *)inv_heap_take(s->h, (n + 63) / 64);
	return bytes ? made(s, inv_make_bits(s->h, bytes, 0, n)) : too_big(s);
}

/* --- pids and their like -------------------------------------------------- */

/* Numbers with points between them, and ">"; how many. */
static unsigned ids(struct inv_text *s, uint64_t *id, unsigned max)
{
	struct number x;
	unsigned n = 0;

	do {
		if (n == max || !digits(s, &x, 10) || x.n > 1)
			return 0;
		id[n++] = x.n > 0 ? x.limbs[0] : 0;
	} while (take(s, "."));
	return need(s, ">", "an identifier") ? n : 0;
}

static inv_word identifier(struct inv_text *s, unsigned kind, const char *like,
			   unsigned min, unsigned max)
{
	uint64_t id[1 + INV_REF_WORDS];
	const uint8_t *from = s->p;
	unsigned n = ids(s, id, max);
	inv_word *b;

	if (n < min)
		return fail_at(s, from, "it is written like %s", like);
	b = inv_heap_take(s->h, 4 + n);
	if (!b)
		return too_big(s);
	b[0] = inv_box_head(kind, 0, n - 1);
	b[1] = id[0];
	b[2] = b[3] = b[4] = 0;
	memcpy(b + 5, id + 1, (n - 1) * sizeof(*b));
	return (inv_word)(uintptr_t)b;
}

static inv_word fun(struct inv_text *s, const uint8_t *from)
{
	inv_word m, f, *b;
	struct number arity;

	skip_space(s);
	if (at(s, "("))
		return fail_at(s, from,
			       "a fun has no place in a term; fun m:f/1 does");
	m = name(s);
	if (!m || !need(s, ":", "fun m:f/1"))
		return 0;
	skip_space(s);
	f = name(s);
	if (!f || !need(s, "/", "fun m:f/1") || !digits(s, &arity, 10))
		return 0;
	if (arity.n > 1 || (arity.n == 1 && arity.limbs[0] > 255))
		return fail_at(s, from, "no function has so many arguments");
	b = inv_heap_take(s->h, 3);
	if (!b)
		return too_big(s);
	b[0] = inv_box_head(INV_BOX_EXPORT, 0, arity.n ? arity.limbs[0] : 0);
	b[1] = m;
	b[2] = f;
	return (inv_word)(uintptr_t)b;
}

/* --- containers ----------------------------------------------------------- */

static inv_word term(struct inv_text *s);

/* Terms with commas between them, as a list; how many. */
static inv_word terms(struct inv_text *s, size_t *n, inv_word **tail)
{
	static inv_word nowhere;
	inv_word list = INV_NIL, *last = &list, *cell, t;

	*n = 0;
	do {
		t = term(s);
		cell = t ? inv_heap_take(s->h, 2) : NULL;
		if (!cell) {
			*tail = &nowhere;
			return t ? too_big(s) : 0;
		}
		*last = (inv_word)(uintptr_t)cell + 2;
		cell[0] = t;
		cell[1] = INV_NIL;
		last = &cell[1];
		++*n;
	} while (take(s, ","));
	*tail = last;
	return list;
}

static inv_word list(struct inv_text *s)
{
	inv_word l, *tail, t;
	size_t n;

	s->p++;
	if (take(s, "]"))
		return INV_NIL;
	l = terms(s, &n, &tail);
	if (l && take(s, "|")) {
		t = term(s);
		if (!t)
			return 0;
		*tail = t;
	}
	return l && need(s, "]", "a list") ? l : 0;
}

static inv_word tuple(struct inv_text *s)
{
	inv_word l = INV_NIL, *tail, *w;
	size_t n = 0;

	s->p++;
	if (!take(s, "}")) {
		l = terms(s, &n, &tail);
		if (!l || !need(s, "}", "a tuple"))
			return 0;
	}
	w = inv_make_tuple(s->h, n);
	if (!w)
		return too_big(s);
	for (size_t i = 1; i <= n; i++, l = inv_cons(l)[1])
		w[i] = inv_cons(l)[0];
	return (inv_word)(uintptr_t)w;
}

/* Keys and values in turn, as a list from the last to the first. */
static inv_word pairs(struct inv_text *s, size_t *n)
{
	inv_word l = INV_NIL, key, value;

	do {
		key = term(s);
		if (key && s->variable && take(s, ":="))
			; /* in a pattern */
		else if (!key || !need(s, "=>", "a map"))
			return 0;
		value = term(s);
		if (!value)
			return 0;
		l = inv_make_cons(s->h, value, l);
		l = l ? inv_make_cons(s->h, key, l) : 0;
		++*n;
	} while (l && take(s, ","));
	return made(s, l);
}

static inv_word map(struct inv_text *s, const uint8_t *from)
{
	inv_word l = INV_NIL, *w, m;
	size_t n = 0;

	if (!take(s, "}")) {
		l = pairs(s, &n);
		if (!l || !need(s, "}", "a map"))
			return 0;
	}
	w = inv_heap_take(s->h, 1 + 2 * n);
	if (!w)
		return too_big(s);
	for (size_t i = 1; i <= 2 * n; i++, l = inv_cons(l)[1])
		w[i] = inv_cons(l)[0];
	if (inv_make_map(w, n, 0, &m))
		return fail_at(s, from, "the keys cannot be compared");
	return m;
}

/* After "#": a map, a port, a reference; a fun is none of them. */
static inv_word hash(struct inv_text *s)
{
	const uint8_t *from = s->p;

	if (take(s, "#{"))
		return map(s, from);
	if (take(s, "#Port<"))
		return identifier(s, INV_BOX_PORT, "#Port<0.5>", 2, 2);
	if (take(s, "#Ref<"))
		return identifier(s, INV_BOX_REF, "#Ref<0.1.2.3>", 3,
				  1 + INV_REF_WORDS);
	if (take(s, "#Fun<"))
		return fail_at(s, from,
			       "a fun cannot be written; fun m:f/1 can");
	return fail_at(s, from, "neither #{...}, #Port<...> nor #Ref<...>");
}

static inv_word some_term(struct inv_text *s)
{
	unsigned n;

	skip_space(s);
	if (s->p == s->end)
		return fail_at(s, s->p, "the text ends where a term belongs");
	if (at(s, "<<"))
		return binary(s);
	switch (*s->p) {
	case '[':
		return list(s);
	case '{':
		return tuple(s);
	case '#':
		return hash(s);
	case '"':
		return string(s);
	case '\'':
		return quoted_atom(s);
	case '<':
		s->p++;
		return identifier(s, INV_BOX_PID, "<0.1.2>", 3, 3);
	case '-':
	case '+':
	case '$':
		return signed_number(s);
	default:
		break;
	}
	if (is_digit(*s->p))
		return number(s, false);
	if (name_char(s, &n) != INV_CHAR_BAD)
		return plain_atom(s);
	inv_utf8_get(s->p, s->end, &n);
	return fail_at(s, s->p, "no term begins with '%.*s'", (int)n,
		       (const char *)s->p);
}

static inv_word term(struct inv_text *s)
{
	inv_word t;

	if (s->depth == INV_TREE_DEPTH) {
		if (!s->rc)
			s->rc = inv_err_set(s->err, INV_EDEPTH,
					    "the term is nested too deeply");
		return 0;
	}
	s->depth++;
	t = some_term(s);
	s->depth--;
	return s->rc ? 0 : t;
}

void inv_text_init(struct inv_text *s, struct inv_heap *h, const char *text,
		   struct inv_err *err)
{
	*s = (struct inv_text){ .h = h, .err = err };
	s->begin = s->p = (const uint8_t *)text;
	s->end = s->begin + strlen(text);
}

bool inv_text_take(struct inv_text *s, const char *token)
{
	return take(s, token);
}

uint8_t inv_text_peek(struct inv_text *s)
{
	skip_space(s);
	return s->p < s->end ? *s->p : 0;
}

inv_word inv_text_term(struct inv_text *s)
{
	return term(s);
}

inv_word inv_text_fail(struct inv_text *s, const char *why)
{
	return fail_at(s, s->p, "%s", why);
}

int inv_tree_parse(struct inv_heap *h, const char *text, inv_word *t,
		   struct inv_err *err)
{
	struct inv_text s;

	inv_text_init(&s, h, text, err);
	*t = term(&s);
	if (!s.rc)
		take(&s, ".");
	skip_space(&s);
	if (!s.rc && s.p < s.end)
		fail_at(&s, s.p, "the term ended before this");
	return s.rc;
}
