/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/jsontext.h"

static void put_escaped(struct inv_buf *out, uint8_t c)
{
	static const char hex[] = "0123456789abcdef";

	if (c == '"' || c == '\\') {
		inv_buf_putc(out, '\\');
		inv_buf_putc(out, (char)c);
	} else if (c < 0x20) {
		inv_buf_puts(out, "\\u00");
		inv_buf_putc(out, hex[c >> 4]);
		inv_buf_putc(out, hex[c & 15]);
	} else {
		inv_buf_putc(out, (char)c);
	}
}

void inv_json_escape(struct inv_buf *out, size_t from, struct inv_buf *scratch)
{
	size_t i;

	for (i = from; i < out->len; i++)
		if (out->data[i] < 0x20 || out->data[i] == '"' ||
		    out->data[i] == '\\')
			break;
	if (i >= out->len) /* mostly */
		return;
	inv_buf_reset(scratch);
	inv_buf_put(scratch, out->data + i, out->len - i);
	out->len = i;
	for (i = 0; i < scratch->len; i++)
		put_escaped(out, scratch->data[i]);
	if (scratch->error)
		out->error = scratch->error;
}
