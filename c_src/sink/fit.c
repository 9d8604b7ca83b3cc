/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/fit.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

/*
 * Characters that take no column or two columns. wcwidth() is not used, because
 * it needs a UTF-8 locale, but the output is UTF-8 in every locale.
 */
static const struct {
	uint32_t first;
	uint32_t last;
	unsigned columns;
} odd[] = {
	{ 0x0300, 0x036f, 0 },	 { 0x0483, 0x0489, 0 },
	{ 0x0591, 0x05bd, 0 },	 { 0x064b, 0x065f, 0 },
	{ 0x1100, 0x115f, 2 },	 { 0x1ab0, 0x1aff, 0 },
	{ 0x1dc0, 0x1dff, 0 },	 { 0x200b, 0x200f, 0 },
	{ 0x20d0, 0x20ff, 0 },	 { 0x2e80, 0x303e, 2 },
	{ 0x3041, 0xa4cf, 2 },	 { 0xac00, 0xd7a3, 2 },
	{ 0xf900, 0xfaff, 2 },	 { 0xfe00, 0xfe0f, 0 },
	{ 0xfe20, 0xfe2f, 0 },	 { 0xfe30, 0xfe6f, 2 },
	{ 0xff00, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },
	{ 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
	{ 0x1f900, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
};

static unsigned columns_of(uint32_t c)
{
	if (c < odd[0].first)
		return 1;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		if (c >= odd[i].first && c <= odd[i].last)
			return odd[i].columns;
	return 1;
}

size_t inv__fit_character(const uint8_t *p, size_t n, unsigned *columns)
{
	size_t len = 1;
	uint32_t c = p[0];

	*columns = 0;
	if (c == 0x1b) {
		while (len < n && p[len] != 'm')
			len++;
		return len < n ? len + 1 : n;
	}
	if (c >= 0xc0) {
		c &= c >= 0xf0 ? 0x07 : c >= 0xe0 ? 0x0f : 0x1f;
		while (len < n && len < 4 && (p[len] & 0xc0) == 0x80)
			c = c << 6 | (p[len++] & 0x3f);
	}
	*columns = columns_of(c);
	return len;
}

unsigned inv_fit_columns(const void *text, size_t len)
{
	const uint8_t *p = text;
	unsigned sum = 0;

	for (size_t i = 0; i < len;) {
		unsigned columns;

		i += inv__fit_character(p + i, len - i, &columns);
		sum += columns;
	}
	return sum;
}

/* Returns n if the line at p fits into width columns. Otherwise returns how
 * many bytes fit before the "…". */
static size_t fitting(const uint8_t *p, size_t n, unsigned width)
{
	unsigned sum = 0;
	size_t cut = 0; /* how many bytes fit before the "…" */
	size_t i = 0;

	if (n <= width)
		return n;
	while (i < n) {
		unsigned columns;
		size_t len = inv__fit_character(p + i, n - i, &columns);

		sum += columns;
		if (sum > width)
			return cut;
		i += len;
		if (sum < width)
			cut = i;
	}
	return n;
}

static size_t line_at(const struct inv_buf *b, size_t at)
{
	const uint8_t *p = b->data + at;
	const uint8_t *nl = memchr(p, '\n', b->len - at);

	return nl ? (size_t)(nl - p) : b->len - at;
}

size_t inv_fit_lines(struct inv_buf *out, size_t from, unsigned width,
		     const char *reset, struct inv_buf *spare)
{
	size_t cut = 0;

	inv_buf_reset(spare);
	while (!out->error && from < out->len) {
		size_t n = line_at(out, from);
		size_t keep = fitting(out->data + from, n, width);

		if (keep < n) {
			size_t rest = from + n;

			cut++;
			inv_buf_put(spare, out->data + rest, out->len - rest);
			out->len = from + keep;
			inv_buf_puts(out, ELLIPSIS);
			inv_buf_puts(out, reset);
			n = out->len - from;
			inv_buf_put(out, spare->data, spare->len);
			if (spare->error && !out->error)
				out->error = spare->error;
			inv_buf_reset(spare);
		}
		from += n + 1;
	}
	return cut;
}

#define CONTINUED "        "
/* If the terminal has fewer columns than this, lines are not wrapped here: the
 * terminal itself wraps them. */
#define WRAP_MIN 20

/* Returns how many bytes at p fit into width columns. */
static size_t whole(const uint8_t *p, size_t n, unsigned width)
{
	unsigned sum = 0;
	size_t i = 0;

	while (i < n) {
		unsigned columns;
		size_t len = inv__fit_character(p + i, n - i, &columns);

		sum += columns;
		if (sum > width)
			break;
		i += len;
	}
	return i;
}

void inv_fit_wrap(struct inv_buf *out, size_t from, unsigned width,
		  struct inv_buf *spare)
{
	unsigned columns = width;
	const uint8_t *end_of_line = NULL; /* searched only once for each line,
					      because a line can have
					      megabytes */
	const uint8_t *p, *end;
	size_t n;

	inv_buf_reset(spare);
	if (out->error || out->len == from || width < WRAP_MIN)
		return;
	inv_buf_put(spare, out->data + from, out->len - from);
	out->len = from;
	if (spare->error)
		out->error = spare->error;
	end = spare->data + spare->len;
	for (p = spare->data; p < end; p += n) {
		if (!end_of_line)
			end_of_line = memchr(p, '\n', (size_t)(end - p));
		if (!end_of_line)
			end_of_line = end;
		n = whole(p, (size_t)(end_of_line - p), columns);
		inv_buf_put(out, p, n);
		if (p + n == end_of_line) {
			columns = width;
			if (end_of_line < end) {
				inv_buf_putc(out, '\n');
				n++;
			}
			end_of_line = NULL;
			continue;
		}
		inv_buf_puts(out, "\n" CONTINUED);
		columns = width - (sizeof(CONTINUED) - 1);
	}
}

void inv_fit_right(struct inv_buf *out, size_t from, size_t width)
{
	size_t len = out->len - from;

	if (out->error || len >= width || !inv_buf_reserve(out, width - len))
		return;
	memmove(out->data + from + width - len, out->data + from, len);
	memset(out->data + from, ' ', width - len);
	out->len += width - len;
}
