/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terms of both encodings, whatever they are.
 *
 *	byte 0    bit 0: ETF, else packed; 1: ~0p; 2: unicode; 3: wide range;
 *	          4: of OTP 29
 *	byte 1    packed: the length of the dictionary, which follows
 *	the rest  terms
 *
 * Checked besides what the sanitizers see: a term is stepped over by as many
 * bytes as it is printed from and with the same result; a token stays within
 * the bytes it was given; brackets of what was printed are closed; the text is
 * UTF-8 and no longer than so many times the input.
 */
#include <stdlib.h>
#include <string.h>

#include "term/chars.h"
#include "term/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct inv_cursor cursor;
static struct inv_dict dict;
static struct inv_buf out;

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

/*
 * The longest text of a byte: an atom of the dictionary, 255 characters of
 * \x{10FFFF}, a fun made of two of them; and what goes with it.
 */
#define EXPANSION (2 * 255 * 10 + 100)

struct input {
	enum inv_enc enc;
	const uint8_t *p;
	size_t len;
};

static void start(const struct input *in)
{
	inv_cursor_init(&cursor, in->enc, &dict, in->p, in->len);
}

static int walk(const struct input *in, size_t *tokens)
{
	struct inv_token tok;
	size_t open = 0;
	int r;

	start(in);
	*tokens = 0;
	while ((r = inv_cursor_next(&cursor, &tok)) == 0) {
		++*tokens;
		open += tok.kind >= INV_TOK_TUPLE && tok.kind <= INV_TOK_MAP;
		open -= tok.kind == INV_TOK_END;
		CHECK(open == inv_cursor_depth(&cursor));
		CHECK(inv_cursor_offset(&cursor) <= in->len);
		if (tok.kind == INV_TOK_ATOM)
			CHECK(inv_utf8_valid(tok.bytes, tok.len));
	}
	CHECK(r < 0 || (open == 0 && inv_cursor_offset(&cursor) == in->len));
	/* a token takes a byte at least, but for ENDs */
	CHECK(*tokens <= 2 * in->len);
	return r;
}

static int skip_all(const struct input *in, size_t *offset)
{
	int r;

	start(in);
	do
		r = inv_cursor_skip(&cursor);
	while (r == 0);
	*offset = inv_cursor_offset(&cursor);
	return r;
}

static int print_all(const struct input *in, const struct inv_print_opts *o,
		     size_t *offset)
{
	int r;

	start(in);
	inv_buf_reset(&out);
	do {
		size_t at = out.len;

		r = inv_term_print(&cursor, &out, o);
		CHECK(r != 0 || out.len > at);
	} while (r == 0);
	*offset = inv_cursor_offset(&cursor);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inv_print_opts o = { 0 };
	struct input in;
	size_t tokens, skipped, printed;
	int walked;

	if (size < 2)
		return 0;
	in.enc = data[0] & 1 ? INV_ENC_ETF : INV_ENC_PACKED;
	o.style = data[0] & 2 ? INV_PRINT_P : INV_PRINT_W;
	o.unicode = data[0] & 4;
	o.wide_range = data[0] & 8;
	o.otp = data[0] & 16 ? 29 : 0;
	in.p = data + 1;
	in.len = size - 1;
	inv_dict_reset(&dict);
	if (in.enc == INV_ENC_PACKED) {
		size_t n = *in.p++;

		in.len--;
		if (n > in.len)
			n = in.len;
		inv_dict_parse(&dict, in.p, n, NULL);
		in.p += n;
		in.len -= n;
	}
	walked = walk(&in, &tokens);
	CHECK(skip_all(&in, &skipped) == walked);
	CHECK(print_all(&in, &o, &printed) == walked);
	CHECK(walked < 0 || (skipped == in.len && printed == in.len));
	CHECK(out.error == 0 && out.len <= in.len * EXPANSION);
	/* What the VM printed before us is passed on byte by byte. */
	CHECK(out.len == 0 || inv_utf8_valid(out.data, out.len));
	return 0;
}
