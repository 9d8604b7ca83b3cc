/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

uint32_t inv_utf8_get(const uint8_t *p, const uint8_t *end, unsigned *n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = *p;
	unsigned len, i;

	*n = 1;
	if (c < 0x80)
		return c;
	if (c < 0xc2 || c > 0xf4)
		return INV_CHAR_BAD;
	len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	if ((size_t)(end - p) < len)
		return INV_CHAR_BAD;
	c &= 0x7fu >> len;
	for (i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return INV_CHAR_BAD;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return INV_CHAR_BAD;
	*n = len;
	return c;
}

uint8_t *inv_utf8_put(uint8_t *w, uint32_t c)
{
	if (c < 0x80) {
		*w++ = (uint8_t)c;
	} else if (c < 0x800) {
		*w++ = (uint8_t)(0xc0 | c >> 6);
		*w++ = (uint8_t)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*w++ = (uint8_t)(0xe0 | c >> 12);
		*w++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		*w++ = (uint8_t)(0x80 | (c & 0x3f));
	} else {
		*w++ = (uint8_t)(0xf0 | c >> 18);
		*w++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		*w++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		*w++ = (uint8_t)(0x80 | (c & 0x3f));
	}
	return w;
}

/* Returns true if the 8 bytes at p are ASCII. */
static bool is_ascii8(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return !(v & 0x8080808080808080u);
}

bool inv_utf8_valid(const uint8_t *p, size_t len)
{
	const uint8_t *end;
	unsigned n;

	/* If len is 0, p can be NULL, and C does not define NULL + 0. */
	if (!len)
		return true;
	for (end = p + len; p < end; p += n) {
		n = 1;
		if (end - p >= 8 && is_ascii8(p))
			n = 8;
		else if (*p >= 0x80 && inv_utf8_get(p, end, &n) == INV_CHAR_BAD)
			return false;
	}
	return true;
}

unsigned inv_utf8_partial(const uint8_t *p, size_t len)
{
	unsigned i;

	for (i = 1; i <= 3 && i <= len; i++) {
		uint8_t c = p[len - i];

		if ((c & 0xc0) == 0x80)
			continue;
		if (c < 0xc2 || c > 0xf4)
			return 0;
		return (c < 0xe0 ? 2u : c < 0xf0 ? 3u : 4u) > i ? i : 0;
	}
	return 0;
}

void inv_utf8_repair(const uint8_t *p, size_t len, struct inv_buf *out)
{
	const uint8_t *end = p + len;

	while (p < end) {
		unsigned n;

		if (inv_utf8_get(p, end, &n) == INV_CHAR_BAD)
			inv_buf_puts(out, "\xef\xbf\xbd");
		else
			inv_buf_put(out, p, n);
		p += n;
	}
}
