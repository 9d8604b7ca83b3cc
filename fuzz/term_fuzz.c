/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and prints arbitrary terms, in both encodings.
 *
 *	byte 0    bit 0: the encoding is ETF, not the log's; bits 1-4: options
 *	          of the printer (~0p, unicode, wide range, OTP 29); bit 5: the
 *	          atoms of the dictionary are names of records; bit 6: print
 *	          two levels of nested terms
 *	byte 1    if not ETF: the length of the dictionary, which follows
 *	the rest  terms
 *
 * The target checks that skipping and printing a term read the same number of
 * bytes and have the same result. Each token must be within the input, and the
 * brackets in the text must be closed. The text must be UTF-8 and at most
 * EXPANSION times as long as the input.
 */
#include <string.h>

#include "base/utf8.h"
#include "check.h"
#include "term/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct inv_cursor cursor;
static struct inv_dict dict;
static struct inv_buf out, slow;
static struct inv_fields fields;

/*
 * At most this many bytes of text are printed for a byte of input. The longest
 * text is that of a fun with two atoms of the dictionary. Each atom has 255
 * characters, and each character is printed as \x{10FFFF}. The text around the
 * atoms takes less than 100 bytes.
 */
#define EXPANSION (2 * 255 * 10 + 100)

/* At most this many tokens are read for a byte of input. An APPLY can be one
 * byte, and has the tokens TUPLE ATOM ATOM LIST END END. */
#define TOKENS 6

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
	CHECK(*tokens <= TOKENS * in->len);
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

/* Prints all terms token by token, without the faster printer for simple terms
 * (term/simple.h). Both must print the same text. */
static int print_by_tokens(const struct input *in,
			   const struct inv_print_opts *o)
{
	struct inv_token tok;
	int r;

	start(in);
	inv_buf_reset(&slow);
	do {
		r = inv_cursor_next(&cursor, &tok);
		if (!r)
			r = inv_term_print_token(&cursor, &tok, &slow, o);
	} while (r == 0);
	return r;
}

/* Defines records for atoms of the dictionary. Each field has the same name as
 * its record. */
static void define_records(void)
{
	for (uint32_t i = 0; i < dict.n && i < 8; i++) {
		const struct inv_dict_entry *e = inv_dict_get(&dict, i);
		uint8_t names[4 * 256], *w = names;

		if (e->kind != INV_DEF_ATOM || !e->len || e->len > 255)
			continue;
		for (uint32_t n = 1; n <= 4; n++) {
			*w++ = (uint8_t)e->len;
			memcpy(w, e->bytes, e->len);
			w += e->len;
			CHECK(!inv_fields_add(&fields, NULL, 0, e->bytes,
					      e->len, n, names,
					      (size_t)(w - names)));
		}
	}
}

/* Checks that printing in Elixir's syntax returns the same error as reading the
 * terms (`walked'), and that the text is UTF-8. */
static void in_elixir(const struct input *in, const struct inv_print_opts *o,
		      int walked)
{
	struct inv_print_opts elixir = *o;

	elixir.syntax = INV_SYNTAX_ELIXIR;
	CHECK(print_by_tokens(in, &elixir) == walked);
	CHECK(slow.error == 0 && slow.len <= in->len * EXPANSION);
	CHECK(slow.len == 0 || inv_utf8_valid(slow.data, slow.len));
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
	o.depth = data[0] & 64 ? 2 : 0;
	in.p = data + 1;
	in.len = size - 1;
	dict.n = 0;
	if (in.enc == INV_ENC_PACKED) {
		size_t n = *in.p++;

		in.len--;
		if (n > in.len)
			n = in.len;
		inv_dict_parse(&dict, in.p, n, NULL);
		in.p += n;
		in.len -= n;
	}
	if (data[0] & 32) {
		define_records();
		o.fields[1] = &fields;
	}
	walked = walk(&in, &tokens);
	CHECK(skip_all(&in, &skipped) == walked);
	CHECK(print_all(&in, &o, &printed) == walked);
	CHECK(print_by_tokens(&in, &o) == walked);
	CHECK(slow.len == out.len &&
	      (!out.len || !memcmp(slow.data, out.data, out.len)));
	in_elixir(&in, &o, walked);
	CHECK(walked < 0 || (skipped == in.len && printed == in.len));
	inv_fields_release(&fields);
	CHECK(out.error == 0 &&
	      out.len <= in.len * EXPANSION * (data[0] & 32 ? 2 : 1));
	/* The output is always UTF-8, even for a fun, whose text comes from the
	 * VM. */
	CHECK(out.len == 0 || inv_utf8_valid(out.data, out.len));
	return 0;
}
