/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays out a line that is too long. Only brackets, commas and quotes in the
 * text of the line matter, so this works for the syntaxes of both Erlang and
 * Elixir.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sink/fit.h"

/* Indentation of the line's first bracket, and of each further level of
 * brackets. */
#define FIRST 8u
#define STEP 2u
/* Brackets that are nested deeper than this are not indented any further. */
#define STEPS_MAX 40u

/* An open bracket. */
struct open {
	size_t at; /* index of the bracket in `ends' */
	char close;
	bool broken;
};

struct layout {
	const uint8_t *p;
	size_t n;
	unsigned width;
	size_t *ends; /* for each opening bracket, in order: the number of
		       * columns up to its closing bracket; 0: there is no
		       * closing bracket */
	size_t n_ends;
	struct open *stack;
	size_t depth;
	size_t broken;	 /* how many brackets on the stack are broken into
			  * lines */
	size_t space;	 /* the last space outside of brackets in this line */
	size_t unclosed; /* quotes and binaries that begin here or later have no
			    end */
};

static char closing(uint8_t c)
{
	return (char)(c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : 0);
}

static bool is_quote(uint8_t c)
{
	return c == '"' || c == '\'';
}

static bool has_two(const struct layout *l, size_t i, uint8_t c)
{
	return i + 1 < l->n && l->p[i] == c && l->p[i + 1] == c;
}

/*
 * Returns the place after the string or quoted atom at i, or 0 if it has no
 * end.
 */
static size_t quoted(const struct layout *l, size_t i)
{
	uint8_t quote = l->p[i];

	for (size_t k = i + 1; k < l->n; k++) {
		if (l->p[k] == '\\')
			k++;
		else if (l->p[k] == quote)
			return k + 1;
	}
	return 0;
}

/* Returns the place after the binary at i, or 0 if it has no end. */
static size_t binary(const struct layout *l, size_t i)
{
	size_t k = i + 2;

	while (k < l->n && !has_two(l, k, '>')) {
		k = is_quote(l->p[k]) ? quoted(l, k) : k + 1;
		if (!k)
			return 0;
	}
	return k < l->n ? k + 2 : 0;
}

/* Returns the place after the sigil at i, such as ~D[2026-11-25], or 0 if there
 * is none. */
static size_t sigil(const struct layout *l, size_t i)
{
	size_t k = i + 3;

	if (l->p[i] != '~' || k >= l->n || !isupper(l->p[i + 1]) ||
	    l->p[i + 2] != '[')
		return 0;
	while (k < l->n && l->p[k] && strchr("0123456789-:. Z", l->p[k]))
		k++;
	return k < l->n && l->p[k] == ']' ? k + 1 : 0;
}

/* Returns the length and the columns of the item at i: a quoted text, a
 * binary, a sigil, a character, or a colour. */
static size_t unit(struct layout *l, size_t i, size_t *columns)
{
	size_t end = 0;
	unsigned wide;

	if (i < l->unclosed && (is_quote(l->p[i]) || has_two(l, i, '<'))) {
		end = is_quote(l->p[i]) ? quoted(l, i) : binary(l, i);
		if (!end)
			l->unclosed = i;
	}
	if (!end)
		end = sigil(l, i);
	if (!end) {
		end = inv__fit_character(l->p + i, l->n - i, &wide);
		*columns = wide;
		return end;
	}
	*columns = inv_fit_columns(l->p + i, end - i);
	return end - i;
}

/* Computes `ends' of all brackets. */
static void measure(struct layout *l)
{
	size_t column = 0, columns;

	for (size_t i = 0; i < l->n;) {
		uint8_t c = l->p[i];

		if (closing(c)) {
			l->stack[l->depth++] = (struct open){
				.at = l->n_ends,
				.close = closing(c),
			};
			l->ends[l->n_ends++] = column;
		}
		i += unit(l, i, &columns);
		column += columns;
		if (l->depth && c == (uint8_t)l->stack[l->depth - 1].close) {
			l->depth--;
			l->ends[l->stack[l->depth].at] =
				column - l->ends[l->stack[l->depth].at];
		}
	}
	while (l->depth)
		l->ends[l->stack[--l->depth].at] = 0;
}

static size_t new_line(struct layout *l, struct inv_buf *out)
{
	size_t steps = l->broken < STEPS_MAX ? l->broken : STEPS_MAX;
	size_t columns = FIRST + STEP * steps;

	l->space = 0;
	inv_buf_putc(out, '\n');
	for (size_t i = 0; i < columns; i++)
		inv_buf_putc(out, ' ');
	return columns;
}

/* Returns true if the bracket at i is not a part of a term or call, but for
 * example the bracket around a duration. Its contents stay on one line. */
static bool is_aside(const struct layout *l, size_t i)
{
	return !l->depth && l->p[i] == '(' && i > 0 && l->p[i - 1] == ' ';
}

/* Returns true if the bracket at i begins a tuple whose first element is an
 * atom that fits into the line. Then this atom stays on the line of the
 * bracket. */
static bool has_tag(const struct layout *l, size_t i, size_t column)
{
	size_t k = i + 1;

	if (l->p[i] != '{' || (i > 0 && !strchr(" ([{,", l->p[i - 1])))
		return false;
	k += k < l->n && l->p[k] == ':';
	if (k < l->n && is_quote(l->p[k])) {
		k = quoted(l, k);
	} else if (k < l->n && ((l->p[k] | 0x20) >= 'a') &&
		   (l->p[k] | 0x20) <= 'z') {
		while (k < l->n && (isalnum(l->p[k]) || strchr("_@.", l->p[k])))
			k++;
	} else {
		return false;
	}
	return k > 0 && k < l->n && l->p[k] == ',' &&
	       column + inv_fit_columns(l->p + i + 1, k - i) <= l->width;
}

/* Begins a new line at the last space outside of brackets. */
static size_t break_at(struct layout *l, struct inv_buf *out)
{
	static const char indent[] = "\n        ";
	size_t n = out->len - l->space - 1;
	uint8_t *w = inv_buf_reserve(out, sizeof(indent));

	if (!w)
		return 0;
	w = out->data + l->space;
	memmove(w + sizeof(indent) - 1, w + 1, n);
	memcpy(w, indent, sizeof(indent) - 1);
	out->len += sizeof(indent) - 2;
	l->space = 0;
	return FIRST + inv_fit_columns(out->data + out->len - n, n);
}

static void put(struct layout *l, struct inv_buf *out)
{
	size_t column = 0, bracket = 0, columns, len;

	for (size_t i = 0; i < l->n; i += len) {
		struct open *top = l->depth ? &l->stack[l->depth - 1] : NULL;
		uint8_t c = l->p[i];
		size_t size = closing(c) ? l->ends[bracket++] : 0;

		if (top && c == (uint8_t)top->close) {
			l->depth--;
			l->broken -= top->broken;
		}
		len = unit(l, i, &columns);
		if (!l->depth && c == ' ')
			l->space = out->len;
		inv_buf_put(out, l->p + i, len);
		column += columns;
		if (!l->depth && column > l->width && l->space)
			column = break_at(l, out);
		if (size && l->stack) {
			/* A comma may follow the closing bracket, and needs a
			 * column. */
			bool broken = size > 2 && column + size > l->width &&
				      !is_aside(l, i);
			bool tag = broken && has_tag(l, i, column);

			l->stack[l->depth++] = (struct open){
				.close = closing(c),
				.broken = broken,
			};
			l->broken += broken;
			if (broken && !tag)
				column = new_line(l, out);
		} else if (c == ',' && l->depth &&
			   l->stack[l->depth - 1].broken) {
			column = new_line(l, out);
			if (i + 1 < l->n && l->p[i + 1] == ' ')
				len++;
		}
	}
}

static int lay_out(struct inv_buf *out, const uint8_t *p, size_t n,
		   unsigned width)
{
	struct layout l = { .p = p, .n = n, .width = width, .unclosed = n };
	size_t brackets = 1;

	if (inv_fit_columns(p, n) <= width) {
		inv_buf_put(out, p, n);
		return out->error;
	}
	for (size_t i = 0; i < n; i++)
		brackets += closing(p[i]) != 0;
	l.ends = calloc(brackets, sizeof(*l.ends));
	l.stack = malloc(brackets * sizeof(*l.stack));
	if (l.ends && l.stack) {
		measure(&l);
		put(&l, out);
	}
	free(l.ends);
	free(l.stack);
	return l.ends && l.stack ? out->error : INV_ENOMEM;
}

int inv_fit_pretty(struct inv_buf *out, size_t from, unsigned width)
{
	struct inv_buf text = { 0 };
	const uint8_t *p;
	size_t left, n;
	int rc = out->error;

	if (rc)
		return rc;
	inv_buf_put(&text, out->data + from, out->len - from);
	rc = text.error;
	if (!rc)
		out->len = from;
	for (p = text.data, left = text.len; !rc && left; p += n, left -= n) {
		const uint8_t *nl = memchr(p, '\n', left);

		n = nl ? (size_t)(nl - p) : left;
		rc = lay_out(out, p, n, width);
		if (nl)
			inv_buf_putc(out, '\n');
		n += nl != NULL;
	}
	inv_buf_release(&text);
	return rc;
}

size_t inv_fit_count(const struct inv_buf *out, size_t from)
{
	size_t n = 0;

	for (size_t i = from; !out->error && i < out->len; i++)
		n += out->data[i] == '\n';
	return n;
}

/* Returns where line n begins. Lines are numbered from 0. */
static size_t line_at(const struct inv_buf *out, size_t from, size_t n)
{
	for (; n > 0; from++)
		n -= out->data[from] == '\n';
	return from;
}

void inv_fit_first(struct inv_buf *out, size_t from, unsigned lines)
{
	size_t n = inv_fit_count(out, from), last;
	struct inv_buf rest = { 0 };

	if (out->error || n <= lines || lines < 3)
		return;
	last = line_at(out, from, n - 1);
	inv_buf_put(&rest, out->data + last, out->len - last);
	out->len = line_at(out, from, lines - 2);
	inv_buf_printf(out, "%*s... %zu more lines\n", (int)FIRST, "",
		       n - lines + 1);
	inv_buf_put(out, rest.data, rest.len);
	if (rest.error)
		out->error = rest.error;
	inv_buf_release(&rest);
}
