/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/utf8.h"

#define ESCAPED_MAX 12 /* the longest: \ud83d\ude00 */

/* Returns true if JSON needs no escape for this ASCII character. */
static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* If a byte of x is below c, at least one byte of the result has its top bit
 * set. If no byte of x is below c, all top bits are 0. c is at most 0x80. */
static uint64_t is_below(uint64_t x, uint8_t c)
{
	return (x - EACH(c)) & ~x;
}

/* Returns the first byte in [p, end) that is not plain ASCII, or end. */
static const uint8_t *skip_plain(const uint8_t *p, const uint8_t *end)
{
	uint64_t x;

	for (; end - p >= 8; p += 8) {
		memcpy(&x, p, 8);
		if ((x | is_below(x, 0x20) | is_below(x ^ EACH('"'), 1) |
		     is_below(x ^ EACH('\\'), 1) |
		     is_below(x ^ EACH(0x7f), 1)) &
		    EACH(0x80))
			break;
	}
	while (p < end && is_plain(*p))
		p++;
	return p;
}

static uint8_t *put_unit(uint8_t *w, uint32_t unit)
{
	static const char digits[] = "0123456789abcdef";

	*w++ = '\\';
	*w++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*w++ = (uint8_t)digits[unit >> shift & 15];
	return w;
}

/* Copies the character at p to w, escaped if necessary. p and w may point into
 * the same buffer if w <= p. Sets *n to the length of the character at p. */
static uint8_t *put_char(uint8_t *w, const uint8_t *p, const uint8_t *end,
			 unsigned *n)
{
	uint32_t c = inv_utf8_get(p, end, n);

	if (c == INV_CHAR_BAD)
		return put_unit(w, 0xfffd);
	if (c == '"' || c == '\\') {
		*w++ = '\\';
		*w++ = (uint8_t)c;
		return w;
	}
	/* Control characters and invisible characters are escaped, so that a
	 * terminal does not act on them. */
	if (c >= 0x20 && (c < 0x7f || c > 0x9f) && !inv_char_hidden(c)) {
		memmove(w, p, *n);
		return w + *n;
	}
	if (c <= 0xffff)
		return put_unit(w, c);
	w = put_unit(w, 0xd800 + ((c - 0x10000) >> 10));
	return put_unit(w, 0xdc00 + ((c - 0x10000) & 0x3ff));
}

static size_t escaped_len(const uint8_t *p, const uint8_t *end)
{
	uint8_t w[ESCAPED_MAX];
	const uint8_t *plain;
	size_t len = 0;
	unsigned n;

	for (; p < end; p += n) {
		plain = skip_plain(p, end);
		len += (size_t)(plain - p);
		p = plain;
		n = 0;
		if (p < end)
			len += (size_t)(put_char(w, p, end, &n) - w);
	}
	return len;
}

/* Escapes the bytes of b from offset `from` on. */
static void escape(struct inv_buf *b, size_t from)
{
	const uint8_t *p = b->data + from, *end = b->data + b->len, *plain;
	size_t more;
	unsigned n;
	uint8_t *w;

	p = skip_plain(p, end);
	if (p == end) /* most strings */
		return;
	/* The text at p is moved to higher addresses, so that it ends where its
	 * escaped form will end. Then the escaped form is written at w, from
	 * the text's old place on. No escaped character is shorter than the
	 * original, so w never passes p. */
	from = (size_t)(p - b->data);
	more = escaped_len(p, end) - (size_t)(end - p);
	if (!inv_buf_reserve(b, more))
		return;
	w = b->data + from;
	memmove(w + more, w, b->len - from);
	inv_buf_commit(b, more);
	end = b->data + b->len;
	for (p = w + more; p < end; p += n) {
		plain = skip_plain(p, end);
		memmove(w, p, (size_t)(plain - p));
		w += plain - p;
		p = plain;
		n = 0;
		if (p < end)
			w = put_char(w, p, end, &n);
	}
}

void inv_json_end(struct inv_json *j, size_t begin)
{
	if (!j->out->error)
		escape(j->out, begin);
	inv_buf_putc(j->out, '"');
	j->more = true;
}

void inv_json_bytes(struct inv_json *j, const char *key, const void *p,
		    size_t n)
{
	size_t begin = inv_json_begin(j, key);

	inv_buf_put(j->out, p, n);
	inv_json_end(j, begin);
}

void inv_json_key_text(struct inv_json *j, const char *key)
{
	inv_json_text(j, NULL, key);
	inv_buf_putc(j->out, ':');
	j->more = false;
}

void inv_json_embed(const struct inv_buf *json, struct inv_buf *out)
{
	const uint8_t *p = json->data, *end = p + json->len;

	while (p < end) {
		const uint8_t *at = memchr(p, '<', (size_t)(end - p));
		const uint8_t *to = at ? at : end;

		inv_buf_put(out, p, (size_t)(to - p));
		if (at)
			inv_buf_puts(out, "\\u003c");
		p = at ? at + 1 : end;
	}
}
