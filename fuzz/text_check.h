/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FUZZ_TEXT_CHECK_H
#define INV_FUZZ_TEXT_CHECK_H

/* Checks of text that a target has written. */
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "check.h"

/* Checks that the text is UTF-8 without control characters, except line ends
 * and, if `tabs' is true, tabs. */
static inline void check_text(const struct inv_buf *b, bool tabs)
{
	CHECK(!b->error);
	CHECK(!b->len || inv_utf8_valid(b->data, b->len));
	for (size_t i = 0; i < b->len; i++)
		CHECK(b->data[i] >= ' ' || b->data[i] == '\n' ||
		      (tabs && b->data[i] == '\t'));
}

/* Checks that quotes are closed, and that the brackets outside of quotes are
 * balanced. If `lines' is true, checks this for each line. */
static inline void check_json(const struct inv_buf *b, bool lines)
{
	bool quoted = false;
	int depth = 0;

	for (size_t i = 0; i < b->len; i++) {
		uint8_t c = b->data[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (lines && c == '\n')
			CHECK(!quoted && !depth);
		else if (!quoted)
			depth += (c == '{') + (c == '[') - (c == '}') -
				 (c == ']');
		CHECK(depth >= 0);
	}
	CHECK(!quoted && !depth);
}

/* Checks that the string ends within `size' bytes and can be printed on a
 * terminal. */
static inline void check_string(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	CHECK(len < size);
	CHECK(inv_utf8_valid((const uint8_t *)text, len));
	for (size_t i = 0; i < len; i++)
		CHECK((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

#endif
