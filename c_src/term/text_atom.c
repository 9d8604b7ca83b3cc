/* SPDX-License-Identifier: Apache-2.0 */
#include "term/text_int.h"

#include <string.h>

#include "base/utf8.h"
#include "term/chars.h"

static inv_word make_atom(struct inv_text *s, const uint8_t *name, size_t len,
			  const uint8_t *from)
{
	size_t chars = 0;
	inv_word *w;

	for (size_t i = 0; i < len; i++)
		chars += (name[i] & 0xc0) != 0x80;
	if (chars > INV_ATOM_CHARS)
		return inv__text_fail_at(
			s, from, "an atom has no more than 255 characters");
	w = inv_heap_take(s->h, (len + 7) / 8 + 1);
	if (!w)
		return inv__text_too_big(s);
	memcpy(w, name, len);
	return inv__text_made(s, inv_make_atom(s->h, w, len));
}

static inv_word quoted_atom(struct inv_text *s)
{
	uint8_t name[4 * INV_ATOM_CHARS + 8], *w = name;
	const uint8_t *from = s->p++;

	while (!s->rc && !inv__text_at(s, "'")) {
		uint32_t c = inv__text_char(s);

		if (!s->rc)
			w = inv_utf8_put(w, c);
		if (w > name + 4 * INV_ATOM_CHARS)
			return inv__text_fail_at(s, from,
						 "an atom has no more than 255 "
						 "characters");
	}
	s->p += !s->rc;
	return s->rc ? 0 : make_atom(s, name, (size_t)(w - name), from);
}

/* Returns the next character if it can be in a name, otherwise INV_CHAR_BAD.
 * Sets *n to the character's length. */
static uint32_t name_char(const struct inv_text *s, unsigned *n)
{
	uint32_t c;

	if (s->p == s->end)
		return INV_CHAR_BAD;
	c = inv_utf8_get(s->p, s->end, n);
	return c < 256 && (inv_char_classes[c] & INV_CH_NAME) ? c :
								INV_CHAR_BAD;
}

size_t inv__text_name(struct inv_text *s)
{
	const uint8_t *from = s->p;
	unsigned n;

	while (name_char(s, &n) != INV_CHAR_BAD)
		s->p += n;
	return (size_t)(s->p - from);
}

inv_word inv__text_atom(struct inv_text *s)
{
	const uint8_t *from = s->p;
	size_t n;

	if (s->p < s->end && *s->p == '\'')
		return quoted_atom(s);
	n = inv__text_name(s);
	if (n == 0 || *from == '_' || (*from >= 'A' && *from <= 'Z') ||
	    inv__text_is_digit(*from))
		return inv__text_fail_at(s, from, "an atom expected");
	return make_atom(s, from, n, from);
}

inv_word inv__text_word(struct inv_text *s, const uint8_t *name, size_t len)
{
	inv_word t;

	if (*name == '_' && len == 1)
		return make_atom(s, name, len, name);
	if ((*name == '_' || (*name >= 'A' && *name <= 'Z')) && s->variable) {
		t = s->variable(s->arg, s, (const char *)name, len);
		return t ? t :
			   inv__text_fail_at(s, name,
					     "a variable is not allowed here");
	}
	if (*name == '_' || (*name >= 'A' && *name <= 'Z'))
		return inv__text_fail_at(
			s, name,
			"'%.*s' is a variable: match specs have '$1', "
			"'$2', ... for them",
			(int)len, (const char *)name);
	if (inv_word_reserved(name, len) == 1)
		return inv__text_fail_at(
			s, name,
			"'%.*s' is a reserved word: as an atom it needs "
			"quotes",
			(int)len, (const char *)name);
	return make_atom(s, name, len, name);
}
