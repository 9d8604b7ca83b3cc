/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints external terms for test/ct/inviso_print_SUITE.erl.
 *
 *	term_print OTP-RELEASE [wide | elixir]
 *
 * In:  4 bytes n, n bytes of term_to_binary; until the end of the input.
 * Out: 4 bytes n; then four times 4 bytes m, m bytes: the text under ~w, ~tw,
 *      ~0p and ~0tp.  A text begins with "!" if there was an error. With elixir
 *      there is only one text, in Elixir's syntax.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "term/print.h"

static struct inv_cursor cursor;

static void put_u32(struct inv_buf *b, size_t at, size_t v)
{
	b->data[at] = (uint8_t)(v >> 24);
	b->data[at + 1] = (uint8_t)(v >> 16);
	b->data[at + 2] = (uint8_t)(v >> 8);
	b->data[at + 3] = (uint8_t)v;
}

static void print_one(struct inv_buf *out, const uint8_t *p, size_t len,
		      const struct inv_print_opts *o)
{
	size_t at = out->len;
	int r;

	inv_buf_put(out, "mmmm", 4);
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, p, len);
	r = inv_term_print(&cursor, out, o);
	if (r)
		inv_buf_printf(out, "! %d at %zu", r,
			       inv_cursor_offset(&cursor));
	else if (inv_cursor_offset(&cursor) != len)
		inv_buf_puts(out, "! not all was read");
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, p, len);
	if (r == 0 && (inv_cursor_skip(&cursor) != 0 ||
		       inv_cursor_offset(&cursor) != len))
		inv_buf_puts(out, "! skipped otherwise than printed");
	if (out->error)
		exit(1);
	put_u32(out, at, out->len - at - 4);
}

int main(int argc, char **argv)
{
	struct inv_print_opts o = { 0 };
	struct inv_buf in = { 0 }, out = { 0 };
	uint8_t head[4], *w;
	int i, n_texts = 4;

	if (argc < 2)
		return 2;
	o.otp = (unsigned)strtoul(argv[1], NULL, 10);
	o.wide_range = argc > 2 && strcmp(argv[2], "wide") == 0;
	if (argc > 2 && strcmp(argv[2], "elixir") == 0) {
		o.syntax = INV_SYNTAX_ELIXIR;
		n_texts = 1;
	}
	while (fread(head, 1, 4, stdin) == 4) {
		size_t n = (size_t)head[0] << 24 | (size_t)head[1] << 16 |
			   (size_t)head[2] << 8 | head[3];

		inv_buf_reset(&in);
		inv_buf_reset(&out);
		w = inv_buf_reserve(&in, n);
		if (!w || fread(w, 1, n, stdin) != n)
			return 1;
		inv_buf_commit(&in, n);
		inv_buf_put(&out, "nnnn", 4);
		for (i = 0; i < n_texts; i++) {
			o.style = i < 2 ? INV_PRINT_W : INV_PRINT_P;
			o.unicode = i & 1;
			print_one(&out, in.data, n, &o);
		}
		put_u32(&out, 0, out.len - 4);
		if (fwrite(out.data, 1, out.len, stdout) != out.len)
			return 1;
		fflush(stdout);
	}
	inv_buf_release(&in);
	inv_buf_release(&out);
	return 0;
}
