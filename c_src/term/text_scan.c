/* SPDX-License-Identifier: Apache-2.0 */
#include "term/text_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

void inv_text_init(struct inv_text *s, struct inv_heap *h, const char *text,
		   struct inv_err *err)
{
	*s = (struct inv_text){ .h = h, .err = err };
	s->begin = s->p = (const uint8_t *)text;
	s->end = s->begin + strlen(text);
}

/* Returns the position of `at' in the text, in characters, counted from 1. */
static unsigned column(const struct inv_text *s, const uint8_t *at)
{
	unsigned n = 1;

	for (const uint8_t *p = s->begin; p < at; p++)
		n += (*p & 0xc0) != 0x80;
	return n;
}

inv_word inv__text_fail_at(struct inv_text *s, const uint8_t *at,
			   const char *fmt, ...)
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

inv_word inv_text_fail(struct inv_text *s, const char *why)
{
	return inv__text_fail_at(s, s->p, "%s", why);
}

inv_word inv__text_too_big(struct inv_text *s)
{
	if (!s->rc)
		s->rc = inv_err_set(s->err, INV_ETOOBIG, "the term is too big");
	return 0;
}

inv_word inv__text_made(struct inv_text *s, inv_word t)
{
	return t ? t : inv__text_too_big(s);
}

void inv__text_skip(struct inv_text *s)
{
	for (; s->p < s->end; s->p++) {
		if (*s->p == '%')
			while (s->p < s->end && *s->p != '\n')
				s->p++;
		if (s->p == s->end || *s->p > ' ')
			return;
	}
}

bool inv__text_at(const struct inv_text *s, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(s->end - s->p) >= n && !memcmp(s->p, text, n);
}

bool inv_text_take(struct inv_text *s, const char *token)
{
	if (s->rc)
		return false;
	inv__text_skip(s);
	if (!inv__text_at(s, token))
		return false;
	s->p += strlen(token);
	return true;
}

uint8_t inv_text_peek(struct inv_text *s)
{
	if (s->rc)
		return 0;
	inv__text_skip(s);
	return s->p < s->end ? *s->p : 0;
}

bool inv__text_need(struct inv_text *s, const char *text, const char *where)
{
	if (inv_text_take(s, text))
		return true;
	if (s->p == s->end)
		inv__text_fail_at(s, s->p, "the text ends, but %s needs a '%s'",
				  where, text);
	else
		inv__text_fail_at(s, s->p, "'%s' expected in %s", text, where);
	return false;
}

unsigned inv__text_digit(unsigned c)
{
	if (inv__text_is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 255;
}

/* Reads the digits after "\x". */
static uint32_t hex_char(struct inv_text *s)
{
	bool braces = inv__text_at(s, "{");
	uint32_t c = 0;
	unsigned n = 0;

	for (s->p += braces; s->p < s->end && inv__text_digit(*s->p) < 16 &&
			     (braces || n < 2) && c <= 0x10ffff;
	     n++)
		c = c << 4 | inv__text_digit(*s->p++);
	if (n == 0 || c > 0x10ffff || (braces && !inv__text_at(s, "}"))) {
		inv__text_fail_at(s, s->p, "a wrong \\x");
		return 0;
	}
	s->p += braces;
	return c;
}

uint32_t inv__text_char(struct inv_text *s)
{
	static const char escapes[] = "b\bd\177e\033f\fn\nr\rs t\tv\v";
	const char *e;
	uint32_t c = 0;
	unsigned n;

	if (s->p == s->end) {
		inv__text_fail_at(s, s->p, "the text ends within quotes");
		return 0;
	}
	c = inv_utf8_get(s->p, s->end, &n);
	if (c == INV_CHAR_BAD) {
		inv__text_fail_at(s, s->p, "this is not UTF-8");
		return 0;
	}
	s->p += n;
	if (c != '\\')
		return c;
	if (s->p == s->end)
		return inv__text_char(s);
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
