/* SPDX-License-Identifier: Apache-2.0 */
#include "node/etf_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "term/print.h"

#define TERM_MAX 65536 /* if a term has more bytes, only its size is printed */

static bool printable(uint32_t c)
{
	return c != INV_CHAR_BAD && c >= 0x20 && (c < 0x7f || c > 0x9f) &&
	       !inv_char_hidden(c);
}

bool inv_plain_char(char *buf, size_t size, size_t *at, uint32_t c)
{
	uint8_t utf8[4];
	size_t n;

	if (c == '\t' || c == '\n')
		c = ' ';
	n = (size_t)(inv_utf8_put(utf8, printable(c) ? c : '?') - utf8);
	if (n >= size - *at)
		return false;
	memcpy(buf + *at, utf8, n);
	*at += n;
	buf[*at] = 0;
	return true;
}

bool inv_plain_text(char *out, size_t size, const void *text, size_t len)
{
	/* If len is 0, `text' may be NULL. */
	const uint8_t *p = len ? text : (const void *)"";
	const uint8_t *end = p + len;
	size_t at = 0;
	unsigned n;

	out[0] = 0;
	while (p < end &&
	       inv_plain_char(out, size, &at, inv_utf8_get(p, end, &n)))
		p += n;
	return p == end;
}

void inv_plain_cut(char *out, size_t size, const void *text, size_t len)
{
	if (!inv_plain_text(out, size - 3, text, len))
		memcpy(out + strlen(out), "...", 4);
}

void inv_etf_text(char *out, size_t size, const char *term, size_t len)
{
	static const struct inv_print_opts opts = { .style = INV_PRINT_P,
						    .unicode = true };
	struct inv_cursor *c = malloc(sizeof(*c));
	struct inv_buf text = { 0 };

	snprintf(out, size, "a term of %zu bytes", len);
	if (c && len <= TERM_MAX) {
		inv_cursor_init(c, INV_ENC_ETF, NULL, term, len);
		if (inv_term_print(c, &text, &opts) == 0)
			inv_plain_cut(out, size, text.data, text.len);
	}
	inv_buf_release(&text);
	free(c);
}
