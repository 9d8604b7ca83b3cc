/* SPDX-License-Identifier: Apache-2.0 */
#include "term/text_int.h"

#include <string.h>

#include "base/utf8.h"

/*
 * Reads numbers with points between them, and then ">". Returns how many
 * numbers it has read, or 0 after an error.
 */
static unsigned ids(struct inv_text *s, uint64_t *id, unsigned max)
{
	unsigned n = 0;

	do {
		if (n == max || !inv__text_u64(s, &id[n++]))
			return 0;
	} while (inv_text_take(s, "."));
	return inv__text_need(s, ">", "an identifier") ? n : 0;
}

static inv_word identifier(struct inv_text *s, unsigned kind, const char *like,
			   unsigned min, unsigned max)
{
	uint64_t id[1 + INV_REF_WORDS];
	const uint8_t *from = s->p;
	unsigned n = ids(s, id, max);
	inv_word *b;

	if (n < min)
		return inv__text_fail_at(s, from, "it is written like %s",
					 like);
	b = inv_heap_take(s->h, 4 + n);
	if (!b)
		return inv__text_too_big(s);
	b[0] = inv_box_head(kind, 0, n - 1);
	b[1] = id[0];
	b[2] = b[3] = b[4] = 0;
	memcpy(b + 5, id + 1, (n - 1) * sizeof(*b));
	return (inv_word)(uintptr_t)b;
}

static inv_word fun(struct inv_text *s, const uint8_t *from)
{
	inv_word m, f, *b;
	uint64_t arity;

	inv__text_skip(s);
	if (inv__text_at(s, "("))
		return inv__text_fail_at(
			s, from,
			"a term cannot have a fun; fun m:f/1 is allowed");
	m = inv__text_atom(s);
	if (!m || !inv__text_need(s, ":", "fun m:f/1"))
		return 0;
	inv__text_skip(s);
	f = inv__text_atom(s);
	if (!f || !inv__text_need(s, "/", "fun m:f/1"))
		return 0;
	if (!inv__text_u64(s, &arity) || arity > 255)
		return inv__text_fail_at(s, from,
					 "no function has so many arguments");
	b = inv_heap_take(s->h, 3);
	if (!b)
		return inv__text_too_big(s);
	b[0] = inv_box_head(INV_BOX_EXPORT, 0, arity);
	b[1] = m;
	b[2] = f;
	return (inv_word)(uintptr_t)b;
}

/* Reads terms with commas between them, and returns them as a list. Sets *n to
 * the length of the list, and *tail to the word with the list's tail. */
static inv_word terms(struct inv_text *s, size_t *n, inv_word **tail)
{
	static inv_word nowhere;
	inv_word list = INV_NIL, *last = &list, *cell, t;

	*n = 0;
	do {
		t = inv_text_term(s);
		cell = t ? inv_heap_take(s->h, 2) : NULL;
		if (!cell) {
			*tail = &nowhere;
			return t ? inv__text_too_big(s) : 0;
		}
		*last = (inv_word)(uintptr_t)cell + 2;
		cell[0] = t;
		cell[1] = INV_NIL;
		last = &cell[1];
		++*n;
	} while (inv_text_take(s, ","));
	*tail = last;
	return list;
}

static inv_word list(struct inv_text *s)
{
	inv_word l, *tail, t;
	size_t n;

	s->p++;
	if (inv_text_take(s, "]"))
		return INV_NIL;
	l = terms(s, &n, &tail);
	if (l && inv_text_take(s, "|")) {
		t = inv_text_term(s);
		if (!t)
			return 0;
		*tail = t;
	}
	return l && inv__text_need(s, "]", "a list") ? l : 0;
}

static inv_word tuple(struct inv_text *s)
{
	inv_word l = INV_NIL, *tail, *w;
	size_t n = 0;

	s->p++;
	if (!inv_text_take(s, "}")) {
		l = terms(s, &n, &tail);
		if (!l || !inv__text_need(s, "}", "a tuple"))
			return 0;
	}
	w = inv_make_tuple(s->h, n);
	if (!w)
		return inv__text_too_big(s);
	for (size_t i = 1; i <= n; i++, l = inv_cons(l)[1])
		w[i] = inv_cons(l)[0];
	return (inv_word)(uintptr_t)w;
}

/* Reads the pairs of a map, and returns the list [Key, Value, Key, Value, ...],
 * which begins with the last pair. Sets *n to the number of pairs. */
static inv_word pairs(struct inv_text *s, size_t *n)
{
	inv_word l = INV_NIL, key, value;

	do {
		key = inv_text_term(s);
		if (key && s->variable && inv_text_take(s, ":="))
			; /* := is allowed in a pattern */
		else if (!key || !inv__text_need(s, "=>", "a map"))
			return 0;
		value = inv_text_term(s);
		if (!value)
			return 0;
		l = inv_make_cons(s->h, value, l);
		l = l ? inv_make_cons(s->h, key, l) : 0;
		++*n;
	} while (l && inv_text_take(s, ","));
	return inv__text_made(s, l);
}

static inv_word map(struct inv_text *s, const uint8_t *from)
{
	inv_word l = INV_NIL, *w, m;
	size_t n = 0;

	if (!inv_text_take(s, "}")) {
		l = pairs(s, &n);
		if (!l || !inv__text_need(s, "}", "a map"))
			return 0;
	}
	w = inv_heap_take(s->h, 1 + 2 * n);
	if (!w)
		return inv__text_too_big(s);
	/* The list begins with the last pair, so the box is filled from its
	 * end. */
	for (size_t i = n; i > 0; i--, l = inv_cons(l)[1]) {
		w[2 * i - 1] = inv_cons(l)[0];
		l = inv_cons(l)[1];
		w[2 * i] = inv_cons(l)[0];
	}
	if (inv_make_map(w, n, 0, &m))
		return inv__text_fail_at(s, from,
					 "the keys cannot be compared");
	return m;
}

/* Reads a map, a port or a reference, whose "#" is next. A fun #Fun<...> is an
 * error. */
static inv_word hash(struct inv_text *s)
{
	const uint8_t *from = s->p;

	if (inv_text_take(s, "#{"))
		return map(s, from);
	if (inv_text_take(s, "#Port<"))
		return identifier(s, INV_BOX_PORT, "#Port<0.5>", 2, 2);
	if (inv_text_take(s, "#Ref<"))
		return identifier(s, INV_BOX_REF, "#Ref<0.1.2.3>", 3,
				  1 + INV_REF_WORDS);
	if (inv_text_take(s, "#Fun<"))
		return inv__text_fail_at(
			s, from,
			"a fun cannot be written, except as fun m:f/1");
	return inv__text_fail_at(s, from,
				 "neither #{...}, #Port<...> nor #Ref<...>");
}

static inv_word some_term(struct inv_text *s)
{
	const uint8_t *from;
	size_t len;
	unsigned n;

	inv__text_skip(s);
	if (s->p == s->end)
		return inv__text_fail_at(s, s->p,
					 "the text ends where a term belongs");
	if (inv__text_at(s, "<<"))
		return inv__text_binary(s);
	switch (*s->p) {
	case '[':
		return list(s);
	case '{':
		return tuple(s);
	case '#':
		return hash(s);
	case '"':
		return inv__text_string(s);
	case '\'':
		return inv__text_atom(s);
	case '<':
		s->p++;
		return identifier(s, INV_BOX_PID, "<0.1.2>", 3, 3);
	case '-':
	case '+':
	case '$':
		return inv__text_signed(s);
	default:
		break;
	}
	if (inv__text_is_digit(*s->p))
		return inv__text_number(s, false);
	from = s->p;
	len = inv__text_name(s);
	if (len == 3 && !memcmp(from, "fun", 3))
		return fun(s, from);
	if (len > 0)
		return inv__text_word(s, from, len);
	inv_utf8_get(s->p, s->end, &n);
	return inv__text_fail_at(s, s->p, "no term begins with '%.*s'", (int)n,
				 (const char *)s->p);
}

inv_word inv_text_term(struct inv_text *s)
{
	inv_word t;

	if (s->rc)
		return 0;
	if (s->depth == INV_TREE_DEPTH) {
		s->rc = inv_err_set(s->err, INV_EDEPTH,
				    "the term is nested too deeply");
		return 0;
	}
	s->depth++;
	t = some_term(s);
	s->depth--;
	return s->rc ? 0 : t;
}

int inv_tree_parse(struct inv_heap *h, const char *text, inv_word *t,
		   struct inv_err *err)
{
	struct inv_text s;

	inv_text_init(&s, h, text, err);
	*t = inv_text_term(&s);
	if (!s.rc)
		inv_text_take(&s, ".");
	inv__text_skip(&s);
	if (!s.rc && s.p < s.end)
		inv__text_fail_at(&s, s.p, "the term ended before this");
	return s.rc;
}
