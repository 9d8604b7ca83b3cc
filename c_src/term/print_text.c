/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/utf8.h"
#include "term/chars.h"
#include "term/print_int.h"

char inv__escape_letter(uint32_t ch)
{
	switch (ch) {
	case '\b':
		return 'b';
	case '\t':
		return 't';
	case '\n':
		return 'n';
	case '\v':
		return 'v';
	case '\f':
		return 'f';
	case '\r':
		return 'r';
	case 27:
		return 'e';
	case 127:
		return 'd';
	case '\\':
		return '\\';
	default:
		return 0;
	}
}

static uint8_t *put_octal(uint8_t *w, uint32_t ch)
{
	*w++ = '\\';
	*w++ = (uint8_t)('0' + (ch >> 6));
	*w++ = (uint8_t)('0' + (ch >> 3 & 7));
	*w++ = (uint8_t)('0' + (ch & 7));
	return w;
}

static uint8_t *put_hex(uint8_t *w, uint32_t ch)
{
	int shift = 20;

	*w++ = '\\';
	*w++ = 'x';
	*w++ = '{';
	while (ch >> shift == 0)
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*w++ = (uint8_t) "0123456789ABCDEF"[ch >> shift & 15];
	*w++ = '}';
	return w;
}

uint8_t *inv__print_char(uint8_t *w, uint32_t ch, char quote, bool unicode)
{
	char letter;

	if (ch >= 32 && ch < 127 && ch != '\\') {
		if (ch == (uint8_t)quote)
			*w++ = '\\';
		*w++ = (uint8_t)ch;
		return w;
	}
	letter = inv__escape_letter(ch);
	if (letter) {
		*w++ = '\\';
		*w++ = (uint8_t)letter;
		return w;
	}
	if (ch < 160)
		return put_octal(w, ch);
	if (ch > 255 && (!unicode || inv_char_hidden(ch)))
		return put_hex(w, ch);
	return inv_utf8_put(w, ch);
}

/* --- atoms ---------------------------------------------------------------- */

/* Returns true if the atom needs quotes. Called only for atoms for which
 * inv_atom_is_plain returns false. Some of them need no quotes, such as atoms
 * with letters of Latin-1. */
static bool needs_quotes(const uint8_t *p, size_t len,
			 const struct inv_print_opts *o)
{
	const uint8_t *begin = p, *end = p + len;
	uint32_t ch;
	unsigned n;
	int reserved;

	for (; p < end; p += n) {
		ch = inv_utf8_get(p, end, &n);
		if (ch > 255 || !(inv_char_classes[ch] &
				  (p == begin ? INV_CH_LOWER : INV_CH_NAME)))
			return true;
	}
	reserved = inv_word_reserved(begin, len);
	return len == 0 || reserved == 1 || (reserved == 2 && o->otp >= 27);
}

static void print_quoted(const uint8_t *p, size_t len, char quote,
			 struct inv_buf *out, bool unicode)
{
	const uint8_t *end = p + len;
	uint8_t *w = inv_buf_reserve(out, len * INV_ESCAPED_MAX + 2);
	uint32_t ch;
	unsigned n;

	if (!w)
		return;
	*w++ = (uint8_t)quote;
	for (; p < end; p += n) {
		ch = inv_utf8_get(p, end, &n);
		w = inv__print_char(w, ch == INV_CHAR_BAD ? 0xfffd : ch, quote,
				    unicode);
	}
	*w++ = (uint8_t)quote;
	out->len = (size_t)(w - out->data);
}

void inv_term_print_atom(const uint8_t *name, size_t len, struct inv_buf *out,
			 const struct inv_print_opts *o)
{
	if (o->syntax == INV_SYNTAX_ELIXIR)
		inv__elixir_atom(name, len, out);
	else if (inv_atom_is_plain(name, len) || !needs_quotes(name, len, o))
		inv_buf_put(out, name, len);
	else
		print_quoted(name, len, '\'', out, o->unicode);
}

void inv_term_print_module(const uint8_t *name, size_t len, struct inv_buf *out,
			   const struct inv_print_opts *o)
{
	inv_term_print_atom(name, len, out, o);
	inv_buf_putc(out, o->syntax == INV_SYNTAX_ELIXIR ? '.' : ':');
}

void inv_term_print_function(const uint8_t *name, size_t len,
			     struct inv_buf *out,
			     const struct inv_print_opts *o)
{
	if (o->syntax == INV_SYNTAX_ELIXIR)
		inv__elixir_function(name, len, out);
	else
		inv_term_print_atom(name, len, out, o);
}

/*
 * Returns true if the VM prints the atom with quotes. Unlike io_lib, the VM
 * ignores reserved words, and quotes names with @.
 */
static bool vm_needs_quotes(const uint8_t *p, size_t len)
{
	const uint8_t *begin = p, *end = p + len;
	uint32_t ch;
	unsigned n;

	for (; p < end; p += n) {
		ch = inv_utf8_get(p, end, &n);
		if (ch > 255 || ch == '@' ||
		    !(inv_char_classes[ch] &
		      (p == begin ? INV_CH_LOWER : INV_CH_NAME)))
			return true;
	}
	return len == 0;
}

void inv__print_vm_atom(const uint8_t *name, size_t len, struct inv_buf *out)
{
	const uint8_t *p = name, *end = name + len;
	uint32_t ch;
	uint8_t *w;
	unsigned n;

	if (!vm_needs_quotes(p, len)) {
		inv_buf_put(out, p, len);
		return;
	}
	w = inv_buf_reserve(out, len * INV_ESCAPED_MAX + 2);
	if (!w)
		return;
	*w++ = '\'';
	for (; p < end; p += n) {
		ch = inv_utf8_get(p, end, &n);
		if (ch == INV_CHAR_BAD)
			ch = 0xfffd;
		if (ch == 27)
			w = put_octal(w, ch);
		else if (ch == 127)
			*w++ = 127;
		else
			w = inv__print_char(w, ch, '\'', true);
	}
	*w++ = '\'';
	out->len = (size_t)(w - out->data);
}

/* Prints a text that the VM has made. Bytes that are not UTF-8 become U+FFFD,
 * all others are unchanged. */
static void print_exact(const uint8_t *p, size_t len, struct inv_buf *out)
{
	const uint8_t *end = p + len;
	uint32_t ch;
	unsigned n;

	if (inv_utf8_valid(p, len)) {
		inv_buf_put(out, p, len);
		return;
	}
	for (; p < end; p += n) {
		ch = inv_utf8_get(p, end, &n);
		if (ch == INV_CHAR_BAD)
			inv_buf_puts(out, "\xef\xbf\xbd");
		else
			inv_buf_put(out, p, n);
	}
}

/* Prints a text that the VM has made, for a terminal: bytes that are not UTF-8
 * become U+FFFD, and characters that a terminal could interpret are escaped. */
static void print_shown(const uint8_t *p, size_t len, struct inv_buf *out)
{
	const uint8_t *end = p + len;
	uint8_t *w = inv_buf_reserve(out, len * INV_ESCAPED_MAX);
	uint32_t ch;
	unsigned n;

	if (!w)
		return;
	for (; p < end; p += n) {
		ch = inv_utf8_get(p, end, &n);
		if (ch == '\\')
			*w++ = '\\';
		else
			w = inv__print_char(w, ch == INV_CHAR_BAD ? 0xfffd : ch,
					    0, true);
	}
	out->len = (size_t)(w - out->data);
}

void inv__print_text(const uint8_t *p, size_t len, struct inv_buf *out,
		     const struct inv_print_opts *o)
{
	if (len == 0) /* the term must be visible even if its text is empty */
		inv_buf_puts(out, "...");
	else if (o->unicode)
		print_shown(p, len, out);
	else
		print_exact(p, len, out);
}

/* --- missing parts -------------------------------------------------------- */

void inv__print_cut(unsigned cut, uint64_t left, struct inv_buf *out)
{
	inv_buf_puts(out, "...");
	if (cut == INV_CUT_OTHER || cut == INV_CUT_BITS)
		return;
	if (cut == INV_CUT_INT && left == 0) {
		inv_buf_puts(out, "(integer)");
		return;
	}
	inv_buf_puts(out, cut == INV_CUT_INT	  ? "(integer of >=" :
			  cut == INV_CUT_LIST_MIN ? "(>=" :
						    "(");
	inv_buf_u64(out, left);
	inv_buf_puts(out, cut == INV_CUT_INT	? " bytes)" :
			  cut == INV_CUT_BINARY ? " more bytes)" :
						  " more)");
}

void inv__print_hole(unsigned cut, uint64_t left, struct inv_buf *out)
{
	static const struct {
		const char *open;
		const char *close;
	} around[] = {
		[0] = { "", "" },
		[INV_CUT_TUPLE] = { "{", "}" },
		[INV_CUT_MAP] = { "#{", "}" },
		[INV_CUT_LIST] = { "[", "]" },
		[INV_CUT_LIST_MIN] = { "[", "]" },
		[INV_CUT_BINARY] = { "<<", ">>" },
		[INV_CUT_INT] = { "", "" },
		[INV_CUT_OTHER] = { "", "" },
		[INV_CUT_BITS] = { "<<", ">>" },
	};

	if (cut == INV_CUT_OTHER && left) {
		inv_buf_puts(out, "<redacted:");
		inv_buf_puts(out, inv_redacted_text(left));
		inv_buf_putc(out, '>');
		return;
	}
	inv_buf_puts(out, around[cut].open);
	inv__print_cut(cut, left, out);
	inv_buf_puts(out, around[cut].close);
}

/* --- binaries and strings ------------------------------------------------- */

static bool all_latin1(const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!(inv_char_classes[p[i]] & INV_CH_PRINT))
			return false;
	return true;
}

enum utf8_kind {
	UTF8_TEXT,	  /* UTF-8, and all characters are printable */
	UTF8_UNPRINTABLE, /* valid UTF-8 up to a character that is not
			     printable */
	UTF8_NONE,	  /* the bytes are not UTF-8 */
};

/* Returns what kind of text the bytes are. Sets *wide to true if they contain
 * characters beyond ASCII. */
static enum utf8_kind look_at_utf8(const uint8_t *p, size_t len,
				   bool wide_range, bool *wide)
{
	const uint8_t *end = p + len;
	uint32_t ch;
	unsigned n;

	*wide = false;
	for (; p < end; p += n) {
		ch = inv_utf8_get(p, end, &n);
		if (ch == INV_CHAR_BAD)
			return UTF8_NONE;
		if (!inv_char_printable(ch, wide_range))
			return UTF8_UNPRINTABLE;
		*wide |= n > 1;
	}
	return UTF8_TEXT;
}

static void quote_latin1(const uint8_t *p, size_t len, struct inv_buf *out)
{
	/* A character of Latin-1 takes at most four bytes, as \377 does. */
	uint8_t *w = inv_buf_reserve(out, 4 * len + 2);
	size_t i;

	if (!w)
		return;
	*w++ = '"';
	for (i = 0; i < len; i++)
		w = inv__print_char(w, p[i], '"', true);
	*w++ = '"';
	out->len = (size_t)(w - out->data);
}

static uint8_t *put_byte(uint8_t *w, unsigned v)
{
	if (v >= 100) {
		*w++ = (uint8_t)('0' + v / 100);
		*w++ = (uint8_t)('0' + v / 10 % 10);
	} else if (v >= 10) {
		*w++ = (uint8_t)('0' + v / 10);
	}
	*w++ = (uint8_t)('0' + v % 10);
	return w;
}

/* Prints bytes as numbers, separated by commas. */
static void print_bytes(const uint8_t *p, size_t len, struct inv_buf *out)
{
	uint8_t *w = inv_buf_reserve(out, 4 * len);
	size_t i;

	if (!w || len == 0)
		return;
	for (i = 0; i < len; i++) {
		w = put_byte(w, p[i]);
		*w++ = ',';
	}
	out->len = (size_t)(w - 1 - out->data);
}

void inv__print_binary_cut(uint64_t bits, struct inv_buf *out)
{
	if (bits % 8 == 0) {
		inv__print_cut(INV_CUT_BINARY, bits / 8, out);
		return;
	}
	inv_buf_puts(out, "...(");
	inv_buf_u64(out, bits);
	inv_buf_puts(out, " more bits)");
}

/*
 * Prints a binary as ~0tp prints text: as "abc" or "abc"/utf8. Returns false if
 * it is not text. If the bytes are not UTF-8, tries to print them as Latin-1.
 * OTP 29 does not try Latin-1 if an unprintable character precedes the invalid
 * byte.
 */
static bool print_utf8_binary(const uint8_t *p, size_t len, struct inv_buf *out,
			      const struct inv_print_opts *o)
{
	bool wide;

	switch (look_at_utf8(p, len, o->wide_range, &wide)) {
	case UTF8_TEXT:
		print_quoted(p, len, '"', out, true);
		if (wide)
			inv_buf_puts(out, "/utf8");
		return true;
	case UTF8_UNPRINTABLE:
		if (o->otp >= 29 || inv_utf8_valid(p, len))
			return false;
		break;
	case UTF8_NONE:
	default:
		break;
	}
	if (!all_latin1(p, len))
		return false;
	quote_latin1(p, len, out);
	return true;
}

/*
 * Prints a binary as text. Returns false if it is not text. If the binary was
 * cut inside a character, omits the incomplete character, and sets *dropped to
 * the number of omitted bytes.
 */
static bool print_binary_text(const struct inv_token *tok, struct inv_buf *out,
			      const struct inv_print_opts *o, unsigned *dropped)
{
	unsigned part;

	*dropped = 0;
	if (tok->len == 0)
		return false;
	if (o->unicode) {
		part = tok->cut ? inv_utf8_partial(tok->bytes, tok->len) : 0;
		if (part > 0 && part < tok->len &&
		    inv_utf8_valid(tok->bytes, tok->len - part))
			*dropped = part;
		return print_utf8_binary(tok->bytes, tok->len - *dropped, out,
					 o);
	}
	if (!all_latin1(tok->bytes, tok->len))
		return false;
	quote_latin1(tok->bytes, tok->len, out);
	return true;
}

void inv__print_binary(const struct inv_token *tok, struct inv_buf *out,
		       const struct inv_print_opts *o)
{
	unsigned used = tok->len > 0 && !tok->cut ? tok->last_bits : 8;
	unsigned dropped = 0;

	inv_buf_put(out, "<<", 2);
	if (o->style == INV_PRINT_P && used == 8 &&
	    print_binary_text(tok, out, o, &dropped)) {
		if (tok->cut)
			inv__print_binary_cut(tok->left + 8 * dropped, out);
		inv_buf_put(out, ">>", 2);
		return;
	}
	/* The binary is not text. Its bytes are printed as numbers. */
	print_bytes(tok->bytes, tok->len - (used < 8), out);
	if (tok->cut) {
		if (tok->len > 0)
			inv_buf_putc(out, ',');
		inv__print_binary_cut(tok->left, out);
	} else if (used < 8) {
		if (tok->len > 1)
			inv_buf_putc(out, ',');
		inv_buf_u64(out, tok->bytes[tok->len - 1] >> (8 - used));
		inv_buf_putc(out, ':');
		inv_buf_u64(out, used);
	}
	inv_buf_put(out, ">>", 2);
}

void inv__print_string(const struct inv_token *tok, struct inv_buf *out,
		       const struct inv_print_opts *o)
{
	if (o->style == INV_PRINT_P && tok->len > 0 &&
	    all_latin1(tok->bytes, tok->len)) {
		quote_latin1(tok->bytes, tok->len, out);
		if (tok->cut)
			inv__print_cut(tok->cut, tok->left, out);
		return;
	}
	inv_buf_putc(out, '[');
	print_bytes(tok->bytes, tok->len, out);
	if (tok->cut) {
		if (tok->len > 0)
			inv_buf_putc(out, ',');
		inv__print_cut(tok->cut, tok->left, out);
	}
	inv_buf_putc(out, ']');
}
