/* SPDX-License-Identifier: Apache-2.0 */
#include "node/words.h"

#include <stdio.h>
#include <stdlib.h>

#include "term/print.h"

#define TERM_MAX 65536 /* bytes; of a greater one only the size is told */

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
			snprintf(out, size, "%.*s%s",
				 (int)(text.len < size - 4 ? text.len :
							     size - 4),
				 (const char *)text.data,
				 text.len < size - 4 ? "" : "...");
	}
	inv_buf_release(&text);
	free(c);
}
