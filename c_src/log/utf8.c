/* SPDX-License-Identifier: Apache-2.0 */
#include "log/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the character at p, 0 if it is none. */
static size_t char_len(const uint8_t *p, size_t n)
{
	size_t len = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
	uint32_t c = *p;

	if (len == 1)
		return *p >= 0x20 && *p != 0x7f;
	if (*p < 0xc2 || *p > 0xf4 || len > n)
		return 0;
	c &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if ((len == 3 && c < 0x800) || (len == 4 && c < 0x10000) || c < 0xa0 ||
	    c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return len;
}

char *inv_utf8_sanitized(const char *s, size_t n)
{
	const uint8_t *p = (const uint8_t *)s;
	char *out, *w;

	w = out = malloc(3 * n + 1);
	if (!out)
		return NULL;
	for (size_t i = 0; i < n;) {
		size_t len = char_len(p + i, n - i);

		memcpy(w, len ? (const char *)p + i : "\xef\xbf\xbd",
		       len ? len : 3);
		w += len ? len : 3;
		i += len ? len : 1;
	}
	*w = 0;
	return out;
}
