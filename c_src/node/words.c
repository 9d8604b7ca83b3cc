/* SPDX-License-Identifier: Apache-2.0 */
#include "node/words.h"

#include <stdio.h>
#include <stdlib.h>

#include "term/chars.h"
#include "term/print.h"

#define TERM_MAX 65536 /* bytes; of a greater one only the size is told */

/* Between two characters. */
static void cut(char *out, size_t size, const struct inv_buf *text)
{
	size_t len = text->len < size - 4 ? text->len : size - 4;

	if (len < text->len)
		len -= inv_utf8_partial(text->data, len);
	snprintf(out, size, "%.*s%s", (int)len, (const char *)text->data,
		 len < text->len ? "..." : "");
}

void inv_term_words(char *out, size_t size, const char *term, size_t len)
{
	static const struct inv_print_opts opts = { .style = INV_PRINT_P,
						    .unicode = true };
	struct inv_cursor *c = malloc(sizeof(*c));
	struct inv_buf text = { 0 };

	snprintf(out, size, "a term of %zu bytes", len);
	if (c && len <= TERM_MAX) {
		inv_cursor_init(c, INV_ENC_ETF, NULL, term, len);
		if (inv_term_print(c, &text, &opts) == 0)
			cut(out, size, &text);
	}
	inv_buf_release(&text);
	free(c);
}
