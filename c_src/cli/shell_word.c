/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shell_word.h"

#include <stdbool.h>

static bool is_plain(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789@%+=:,./_-";

	return text[0] && text[strspn(text, plain)] == '\0';
}

void inv_shell_word_put(struct inv_buf *out, const char *text)
{
	if (is_plain(text)) {
		inv_buf_puts(out, text);
		return;
	}
	inv_buf_putc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			inv_buf_puts(out, "'\\'");
		inv_buf_putc(out, *text);
	}
	inv_buf_putc(out, '\'');
}
