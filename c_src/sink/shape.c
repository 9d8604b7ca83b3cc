/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/shape.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* The first two elements of a tuple, and the last one. */
struct parts {
	const char *v[2];
	size_t len[2];
	unsigned n; /* how many elements of `v' and `len' are set */
	const char *last;
	size_t last_len;
};

/* How deeply envelopes (sink/shape.h) can be nested. */
#define NESTED_MAX 4

/* Returns the character after the quoted text that begins at p. */
static const char *after_quotes(const char *p, const char *end)
{
	char quote = *p++;

	while (p < end && *p != quote)
		p += *p == '\\' ? 2 : 1;
	return p < end ? p + 1 : end;
}

/* Returns the end of the element that begins at p: a comma, or the closing
 * bracket of the tuple. */
static const char *element_end(const char *p, const char *end)
{
	unsigned depth = 0;

	while (p < end) {
		if (*p == '"' || *p == '\'') {
			p = after_quotes(p, end);
			continue;
		}
		if (strchr("{[(<", *p))
			depth++;
		else if ((strchr("}])>", *p) && !depth--) ||
			 (*p == ',' && !depth))
			break;
		p++;
	}
	return p;
}

static void split(struct parts *t, const char *p, const char *end)
{
	memset(t, 0, sizeof(*t));
	while (p < end && *p != '}') {
		const char *stop;

		while (p < end && *p == ' ')
			p++;
		stop = element_end(p, end);
		if (t->n < 2) {
			t->v[t->n] = p;
			t->len[t->n++] = (size_t)(stop - p);
		}
		t->last = p;
		t->last_len = (size_t)(stop - p);
		if (stop == end || *stop != ',')
			return;
		p = stop + 1;
	}
}

static bool is_atom(const char *p, size_t len)
{
	return len && (islower((unsigned char)*p) || *p == '\'' || *p == ':' ||
		       isupper((unsigned char)*p));
}

static bool has_identity(const char *p, size_t len)
{
	static const char *const marks[] = { "#Ref", "#PID<", "<0.", "#Port<" };

	for (unsigned i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (memmem(p, len, marks[i], strlen(marks[i])))
			return true;
	/* A pid of another node does not begin with <0. but with another
	 * number: <8472.110.0>. */
	return len > 2 && *p == '<' && isdigit((unsigned char)p[1]);
}

static bool is_envelope(const struct parts *t)
{
	if (t->n < 2)
		return false;
	return has_identity(t->v[0], t->len[0]) ||
	       (t->last != t->v[1] && has_identity(t->v[1], t->len[1])) ||
	       (t->len[0] > 2 && memchr(t->v[0], '$', 2));
}

void inv_shape_put(const char *text, size_t len, struct inv_buf *out)
{
	struct parts t;
	const char *sep = "";

	for (int i = 0; i < NESTED_MAX; i++) {
		if (!len || *text != '{') {
			inv_buf_puts(out, sep);
			if (is_atom(text, len))
				inv_buf_put(out, text, len);
			else
				inv_buf_putc(out, '_');
			return;
		}
		split(&t, text + 1, text + len);
		if (t.n && is_atom(t.v[0], t.len[0])) {
			inv_buf_puts(out, sep);
			inv_buf_put(out, t.v[0], t.len[0]);
			sep = " ";
		}
		if (!is_envelope(&t)) {
			if (!*sep)
				inv_buf_putc(out, '_');
			return;
		}
		text = t.last;
		len = t.last_len;
	}
}
