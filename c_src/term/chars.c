/* SPDX-License-Identifier: Apache-2.0 */
#include "term/chars.h"

#include <string.h>

/* clang-format off */
/* Sums of enum inv_char_class. */
const uint8_t inv_char_classes[256] = {
	0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 0, 0, /* 00 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, /* 10 */
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, /* 20 */
	14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 4, 4, 4, 4, 4, 4, /* 30 */
	14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, /* 40 */
	14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 4, 4, 4, 4, 14, /* 50 */
	4, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, /* 60 */
	15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 4, 4, 4, 4, 0, /* 70 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 80 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 90 */
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, /* a0 */
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, /* b0 */
	6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* c0 */
	6, 6, 6, 6, 6, 6, 6, 4, 6, 6, 6, 6, 6, 6, 6, 7, /* d0 */
	7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, /* e0 */
	7, 7, 7, 7, 7, 7, 7, 4, 7, 7, 7, 7, 7, 7, 7, 7, /* f0 */
};
/* clang-format on */

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

bool inv_utf8_valid(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	unsigned n;

	while (p < end) {
		if (*p < 0x80) {
			p++;
			continue;
		}
		if (inv_utf8_get(p, end, &n) == INV_CHAR_BAD)
			return false;
		p += n;
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

int inv_word_reserved(const uint8_t *p, size_t len)
{
	/* By length, so that most atoms are compared with few words. */
	static const char *const words[] = {
		[2] = "if of or",
		[3] = "end fun not div rem bor bsl bsr and xor let try",
		[4] = "case when bnot band bxor cond",
		[5] = "after begin catch",
		[6] = "orelse",
		[7] = "andalso receive",
	};
	const char *w;
	char first;

	if (len < 2 || len > 7)
		return 0;
	first = (char)p[0];
	for (w = words[len]; *w; w += len + (w[len] == ' '))
		if (w[0] == first && memcmp(w, p, len) == 0)
			return 1;
	if ((len == 5 && memcmp(p, "maybe", 5) == 0) ||
	    (len == 4 && memcmp(p, "else", 4) == 0))
		return 2;
	return 0;
}

bool inv_atom_is_plain(const uint8_t *p, size_t len)
{
	size_t i;

	if (len == 0 || p[0] >= 0x80 ||
	    !(inv_char_classes[p[0]] & INV_CH_LOWER))
		return false;
	for (i = 1; i < len; i++)
		if (!(inv_char_classes[p[i]] & INV_CH_ASCII_NAME))
			return false;
	return inv_word_reserved(p, len) == 0;
}
