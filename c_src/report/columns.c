/* SPDX-License-Identifier: Apache-2.0 */
#include "report/columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "sink/duration.h"
#include "sink/fit.h"

/* A column has at most this width, even if a cell is wider. */
#define WIDEST 60u

static void make_visible(struct inv_buf *b, size_t from)
{
	uint8_t *w = b->data + from;
	const uint8_t *p = w, *end = b->data + b->len;

	while (p < end) {
		unsigned n;
		uint32_t c = inv_utf8_get(p, end, &n);

		if (c == INV_CHAR_BAD || c < 0x20 || (c >= 0x7f && c < 0xa0) ||
		    inv_char_hidden(c))
			*w++ = '?';
		else
			for (unsigned i = 0; i < n; i++)
				*w++ = p[i];
		p += n;
	}
	b->len = (size_t)(w - b->data);
}

void inv_columns_next(struct inv_columns *c)
{
	size_t from = c->n ? c->ends[c->n - 1] : 0;

	if (c->n == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 64;
		size_t *ends = realloc(c->ends, cap * sizeof(*ends));

		if (!ends) {
			c->text.error = INV_ENOMEM;
			return;
		}
		c->ends = ends;
		c->cap = cap;
	}
	if (c->text.len > from)
		make_visible(&c->text, from);
	c->ends[c->n++] = c->text.len;
}

void inv_columns_text(struct inv_columns *c, const char *text)
{
	inv_buf_puts(&c->text, text);
	inv_columns_next(c);
}

void inv_columns_u64(struct inv_columns *c, uint64_t n)
{
	inv_buf_u64(&c->text, n);
	inv_columns_next(c);
}

void inv_columns_ns(struct inv_columns *c, uint64_t ns)
{
	inv_duration_short(ns, &c->text);
	inv_columns_next(c);
}

static const uint8_t *cell(const struct inv_columns *c, size_t i, size_t *len)
{
	size_t from = i ? c->ends[i - 1] : 0;

	*len = c->ends[i] - from;
	return c->text.data + from;
}

static void pad(struct inv_buf *out, unsigned n)
{
	while (n--)
		inv_buf_putc(out, ' ');
}

static void put_row(const struct inv_columns *c, size_t row, size_t n_columns,
		    const unsigned *widths, struct inv_buf *out)
{
	inv_buf_puts(out, "  ");
	for (size_t i = 0; i < n_columns; i++) {
		size_t len;
		const uint8_t *text = cell(c, row * n_columns + i, &len);
		unsigned n = inv_fit_columns(text, len);
		unsigned rest = n < widths[i] ? widths[i] - n : 0;
		size_t from = out->len;

		if (i)
			inv_buf_puts(out, "  ");
		if (c->align[i] == 'r')
			pad(out, rest);
		inv_buf_put(out, text, len);
		if (i + 1 < n_columns && n > widths[i] && out->data) {
			/* A cell that is too wide is cut. */
			struct inv_buf spare = { 0 };

			from += i ? 2 : 0;
			inv_buf_putc(out, '\n');
			inv_fit_lines(out, from, widths[i], "", &spare);
			if (!out->error && out->len)
				out->len--;
			inv_buf_release(&spare);
		} else if (c->align[i] == 'l' && i + 1 < n_columns) {
			pad(out, rest);
		}
	}
	inv_buf_putc(out, '\n');
}

void inv_columns_print(struct inv_columns *c, struct inv_buf *out)
{
	size_t n_columns = strlen(c->align);
	unsigned *widths = calloc(n_columns, sizeof(*widths));

	if (!widths || c->text.error)
		out->error = INV_ENOMEM;
	for (size_t i = 0; !out->error && i < c->n; i++) {
		size_t len;
		const uint8_t *text = cell(c, i, &len);
		unsigned n = inv_fit_columns(text, len);
		unsigned *w = &widths[i % n_columns];

		if (n > WIDEST)
			n = WIDEST;
		if (n > *w)
			*w = n;
	}
	for (size_t i = 0; !out->error && i < c->n / n_columns; i++)
		put_row(c, i, n_columns, widths, out);
	free(widths);
	inv_buf_release(&c->text);
	free(c->ends);
	*c = (struct inv_columns){ 0 };
}
