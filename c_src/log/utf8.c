/* SPDX-License-Identifier: Apache-2.0 */
#include "log/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define ATOM_MAX 255u /* characters */

static bool is_shown(uint32_t c)
{
	return c != INV_CHAR_BAD && c >= 0x20 && (c < 0x7f || c > 0x9f) &&
	       !inv_char_hidden(c);
}

char *inv_utf8_sanitized(const char *s, size_t n)
{
	const uint8_t *p = (const uint8_t *)s;
	const uint8_t *end = p + n;
	char *out, *w;
	unsigned len;

	w = out = malloc(3 * n + 1);
	if (!out)
		return NULL;
	for (; p < end; p += len) {
		bool shown = is_shown(inv_utf8_get(p, end, &len));

		memcpy(w, shown ? (const char *)p : "\xef\xbf\xbd",
		       shown ? len : 3);
		w += shown ? len : 3;
	}
	*w = 0;
	return out;
}

char *inv_utf8_node_name(const char *s, size_t n)
{
	const uint8_t *p = (const uint8_t *)s;
	const uint8_t *end = p + n;
	unsigned len;

	for (unsigned chars = 0; p < end && chars < ATOM_MAX; chars++) {
		inv_utf8_get(p, end, &len);
		p += len;
	}
	return inv_utf8_sanitized(s, (size_t)(p - (const uint8_t *)s));
}
