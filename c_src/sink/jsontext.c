/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/jsontext.h"

#include <stdbool.h>

#include "term/chars.h"

static void put_u(struct inv_buf *out, uint32_t unit)
{
	inv_buf_printf(out, "\\u%04x", (unsigned)unit);
}

/* The same to a program, and nothing that a terminal obeys. */
static void put_unit(struct inv_buf *out, uint32_t c)
{
	if (c > 0xffff) {
		put_u(out, 0xd800 + ((c - 0x10000) >> 10));
		put_u(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
	} else {
		put_u(out, c);
	}
}

/* Bytes that may need to be escaped; of those above ASCII few do. */
static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static bool is_obeyed(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || inv_char_hidden(c);
}

/* The character at p; *n is its length. */
static void put_escaped(struct inv_buf *out, const uint8_t *p,
			const uint8_t *end, unsigned *n)
{
	uint32_t c = inv_utf8_get(p, end, n);

	if (c == '"' || c == '\\') {
		inv_buf_putc(out, '\\');
		inv_buf_putc(out, (char)c);
	} else if (c != INV_CHAR_BAD && is_obeyed(c)) {
		put_unit(out, c);
	} else {
		inv_buf_put(out, p, *n);
	}
}

void inv_json_escape(struct inv_buf *out, size_t from, struct inv_buf *scratch)
{
	const uint8_t *p, *end;
	unsigned n;
	size_t i;

	for (i = from; i < out->len; i++)
		if (!is_plain(out->data[i]))
			break;
	if (i >= out->len) /* mostly */
		return;
	inv_buf_reset(scratch);
	inv_buf_put(scratch, out->data + i, out->len - i);
	out->len = i;
	p = scratch->data;
	end = p + scratch->len;
	for (; !scratch->error && p < end; p += n) {
		n = 1;
		if (is_plain(*p))
			inv_buf_putc(out, (char)*p);
		else
			put_escaped(out, p, end, &n);
	}
	if (scratch->error)
		out->error = scratch->error;
}
